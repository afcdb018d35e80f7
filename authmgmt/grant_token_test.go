package authmgmt_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// edit changes what is stored of an invitation.
func (r *rig) edit(t *testing.T, i *authmgmt.Invitation, change func(stored *authmgmt.Invitation)) {
	t.Helper()
	update := func(stored *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
		change(stored)
		return authmgmt.AuditEvent{}, nil
	}
	require.NoError(t, r.store.UpdateInvitation(t.Context(), i.Organization, i.ID, update))
}

// attempt makes an attempt of Options.GrantToken by its number, which ends in i's being
// granted: the person comes again after a server could not write down how those before
// ended. It returns the token.
func (r *rig) attempt(t *testing.T, i *authmgmt.Invitation, number int) string {
	t.Helper()
	r.edit(t, i, func(stored *authmgmt.Invitation) {
		stored.Generation, stored.GrantAttempts = i.Generation, number-1
		stored.GrantedAt, stored.GrantDue = time.Time{}, begin.Truncate(time.Microsecond)
	})
	granted, text, err := r.Accept(t.Context(), r.link(i), "")
	require.NoError(t, err)
	require.Equal(t, number, granted.GrantAttempts)
	require.False(t, granted.GrantedAt.IsZero())
	return text.Reveal()
}

// TestGrantToken: of the tokens that the attempts at one invitation make, the last one
// works, with the invitation's roles.
func TestGrantToken(t *testing.T) {
	ctx := t.Context()
	r := newRig(t, authmgmt.Options{GrantToken: 90 * 24 * time.Hour})
	i := r.invite(t, "alan@example.com", "viewer")
	r.edit(t, &i, func(stored *authmgmt.Invitation) {
		now := begin.Truncate(time.Microsecond)
		stored.AcceptedAt, stored.AcceptedBy, stored.GrantDue = now, stored.Email, now
	})
	n, err := r.RunOnce(ctx)
	require.NoError(t, err)
	assert.Zero(t, n, "nobody waits")
	waiting, err := r.store.Invitation(ctx, i.Organization, i.ID)
	require.NoError(t, err)
	assert.Equal(t, 1, waiting.GrantAttempts)
	assert.True(t, waiting.AwaitsPerson, "which says that the error was ErrUnattended")
	page, err := r.ListTokens(ctx, "acme", "", 0)
	require.NoError(t, err)
	assert.Empty(t, page.Items, "a token that nobody could read")

	var given []string
	for _, attempt := range []int{1, 2, 4} { // the third one came to nothing
		given = append(given, r.attempt(t, &i, attempt))
		for n, earlier := range given {
			if _, err := r.VerifyToken(ctx, earlier); n < len(given)-1 {
				assert.ErrorIs(t, err, authmgmt.ErrInvalidCredentials, "after attempt %d: token %d", attempt, n)
			} else {
				assert.NoError(t, err, "after attempt %d its token", attempt)
			}
		}
	}
	last := given[len(given)-1]
	identity, err := r.VerifyToken(ctx, last)
	require.NoError(t, err)
	assert.Equal(t, "acme", identity.Organization)
	assert.Equal(t, "alan@example.com", identity.Subject)
	assert.Equal(t, begin.Truncate(time.Microsecond).Add(90*24*time.Hour), identity.ExpiresAt)
	assert.Equal(t, i.Roles, identity.Access.Roles())
	// What is made for another invitation, or for its next life, leaves these alone.
	other, again := r.invite(t, "other@example.com", "viewer"), i
	again.Generation++
	for _, i := range []authmgmt.Invitation{other, again} {
		r.attempt(t, &i, 9)
		_, err := r.VerifyToken(ctx, last)
		assert.NoError(t, err)
	}
}

// TestGrantedTokenIDs: each attempt at each invitation has an ID of its own, whichever
// version makes it.
func TestGrantedTokenIDs(t *testing.T) {
	r := newRig(t, authmgmt.Options{GrantToken: time.Hour})
	created := begin.Truncate(time.Microsecond)
	seen := make(map[uuid.UUID]string)
	for _, org := range []string{"a", "a1", "ab"} {
		for _, id := range []string{"b", "1", "b1"} {
			i := authmgmt.Invitation{
				Organization: org, ID: id, Email: "alan@example.com", CreatedAt: created, ExpiresAt: created.Add(time.Hour),
			}
			event := authmgmt.AuditEvent{Organization: org, ID: uuid.New()}
			require.NoError(t, r.store.CreateInvitation(t.Context(), i, false, event))
			for _, i.Generation = range []int64{1, 11} {
				for _, attempt := range []int{1, 11, 111} {
					token, err := r.VerifyToken(t.Context(), r.attempt(t, &i, attempt))
					require.NoError(t, err)
					made := fmt.Sprint(org, " ", id, " ", i.Generation, " ", attempt)
					assert.Empty(t, seen[token.Token], "%s has the ID of another", made)
					seen[token.Token] = made
				}
			}
		}
	}
	// Another ID at another version would leave the tokens of earlier attempts as they are.
	assert.Equal(t, "a b 1 1", seen[uuid.MustParse("b7e899a9-c67a-5fd8-919c-b5de86e7907e")])
}

// TestGrantTokenOrGrant: an invitation gives one or the other.
func TestGrantTokenOrGrant(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) { return mortise.Secret{}, nil }
	if _, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{Grant: none, GrantToken: time.Hour}); err == nil {
		t.Error("both were taken")
	}
	if _, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{GrantToken: -1}); err == nil {
		t.Error("a lifetime below 0 was taken")
	}
}
