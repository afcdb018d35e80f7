package authmgmt_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// TestGrantToken: of the tokens that the attempts at one invitation make, the last one
// works, with the invitation's roles.
func TestGrantToken(t *testing.T) {
	ctx := t.Context()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	service, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{GrantToken: 90 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	i := authmgmt.Invitation{
		Organization: "acme", ID: "i1", Email: "alan@example.com", Generation: 7, AcceptedBy: "alan@example.com", Roles: []access.Role{{ID: "viewer"}},
	}
	if _, err := service.Attempt(ctx, authmgmt.Acceptance{Invitation: i, Attempt: 1}); !errors.Is(err, authmgmt.ErrUnattended) {
		t.Errorf("nobody waits: %v", err)
	}
	if page, err := service.ListTokens(ctx, "acme", authmgmt.Paging{}); err != nil || len(page.Items) != 0 {
		t.Errorf("a token that nobody could read: %+v, %v", page.Items, err)
	}
	var given []string
	for _, attempt := range []int{1, 2, 4} { // the third one came to nothing
		text, err := service.Attempt(ctx, authmgmt.Acceptance{Invitation: i, Attempt: attempt, Attended: true})
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, text.Reveal())
		for n, earlier := range given {
			_, err := service.VerifyToken(ctx, earlier)
			if last := n == len(given)-1; last != (err == nil) {
				t.Errorf("after attempt %d the token of number %d: %v", attempt, n, err)
			}
		}
	}
	identity, err := service.VerifyToken(ctx, given[len(given)-1])
	if err != nil || identity.Organization != "acme" || identity.Subject != "alan@example.com" || time.Until(identity.ExpiresAt) < 89*24*time.Hour ||
		!slices.Equal(identity.Access.Roles(), i.Roles) {
		t.Errorf("%+v, %v", identity, err)
	}
	// What is made for another invitation, or for its next life, leaves these alone.
	other, again := i, i
	other.ID, again.Generation = "i2", 8
	for _, i := range []authmgmt.Invitation{other, again} {
		if _, err := service.Attempt(ctx, authmgmt.Acceptance{Invitation: i, Attempt: 9, Attended: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := service.VerifyToken(ctx, given[len(given)-1]); err != nil {
			t.Error(err)
		}
	}
}

func TestGrantedTokenIDs(t *testing.T) {
	// Another result at another version would leave the tokens of earlier attempts as
	// they are.
	if id := authmgmt.GrantedToken(&authmgmt.Invitation{Organization: "a", ID: "b", Generation: 1}, 1); id != uuid.MustParse("b7e899a9-c67a-5fd8-919c-b5de86e7907e") {
		t.Errorf("got %s", id)
	}
	seen := make(map[uuid.UUID]bool)
	for _, org := range []string{"a", "a1", "ab"} {
		for _, id := range []string{"b", "1", "b1"} {
			for _, generation := range []int64{1, 11} {
				for _, attempt := range []int{1, 11, 111} {
					i := authmgmt.Invitation{Organization: org, ID: id, Generation: generation}
					if seen[authmgmt.GrantedToken(&i, attempt)] {
						t.Errorf("%+v, %d has the ID of another", i, attempt)
					}
					seen[authmgmt.GrantedToken(&i, attempt)] = true
				}
			}
		}
	}
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
