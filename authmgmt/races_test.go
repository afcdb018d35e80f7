package authmgmt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// betweenStore lets something happen between what a service reads and what it writes, or
// after that.
type betweenStore struct {
	authmgmt.Store
	before, after func()
}

func once(f *func()) {
	if *f != nil {
		run := *f
		*f = nil
		run()
	}
}

func (b *betweenStore) UpdateInvitation(ctx context.Context, org, id string, update func(*authmgmt.Invitation) (authmgmt.AuditEvent, error)) error {
	once(&b.before)
	err := b.Store.UpdateInvitation(ctx, org, id, update)
	once(&b.after)
	return err
}

func (b *betweenStore) CreateToken(ctx context.Context, t authmgmt.Token, e authmgmt.AuditEvent) error {
	once(&b.before)
	return b.Store.CreateToken(ctx, t, e)
}

func (b *betweenStore) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	t, err := b.Store.TokenByDigest(ctx, digest)
	once(&b.after)
	return t, err
}

func (b *betweenStore) UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	err := b.Store.UpdateToken(ctx, org, id, update)
	once(&b.after)
	return err
}

// newBetween returns a service over a betweenStore of its own, and a rig on the same
// data.
func newBetween(t *testing.T, opts authmgmt.Options) (*authmgmt.Service, *betweenStore, *rig) {
	t.Helper()
	r := newRig(t, authmgmt.Options{Grant: opts.Grant})
	store := &betweenStore{Store: r.store}
	opts.Now, opts.AcceptURL, opts.InvitationKey = r.now, "https://app.example.com/join/", testKey
	s, err := authmgmt.New(authmgmt.Backend{Store: store}, &opts)
	require.NoError(t, err)
	return s, store, r
}

// Whatever happens to an invitation while it is being accepted, the link counts as it is
// at the moment of the change.
func TestAcceptLosesToWhatComesBetween(t *testing.T) {
	for name, between := range map[string]func(t *testing.T, r *rig, id string){
		"cancelled": func(t *testing.T, r *rig, id string) {
			require.NoError(t, r.CancelInvitation(t.Context(), "acme", full, id))
		},
		"expired": func(_ *testing.T, r *rig, _ string) { r.advance(30 * 24 * time.Hour) },
		"resent": func(t *testing.T, r *rig, id string) {
			_, err := r.ResendInvitation(t.Context(), "acme", full, id)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, store, r := newBetween(t, authmgmt.Options{})
			i := r.invite(t, "alan@example.com")
			store.before = func() { between(t, r, i.ID) }
			_, _, err := s.Accept(t.Context(), r.link(&i), "")
			assert.Equal(t, mortise.ErrNotFound, err)
		})
	}
}

// An attempt whose claim took too long to be written is left to whoever has the next one.
func TestGrantsNeverOverlap(t *testing.T) {
	running, calls := 0, 0
	s, store, r := newBetween(t, authmgmt.Options{Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
		calls++
		running++
		defer func() { running-- }()
		assert.Equal(t, 1, running)
		return mortise.NewSecret("welcome"), nil
	}})
	i := r.invite(t, "alan@example.com")
	store.after = func() {
		r.advance(41 * time.Second)
		granted, err := r.RunOnce(t.Context())
		assert.NoError(t, err)
		assert.Equal(t, 1, granted)
	}
	_, _, err := s.Accept(t.Context(), r.link(&i), "")
	assert.Equal(t, authmgmt.ErrGrantPending, err)
	assert.Equal(t, 1, calls)
}

// An attempt that overstayed and succeeded after another one is no second grant in the
// trail, and a failure of it changes nothing.
func TestLateAttempts(t *testing.T) {
	for _, failure := range []error{nil, errors.New("too late")} {
		t.Run(fmt.Sprint(failure), func(t *testing.T) {
			var r *rig
			depth := 0
			r = newRig(t, authmgmt.Options{Grant: func(ctx context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
				if depth++; depth > 1 {
					return mortise.NewSecret("second"), nil
				}
				r.advance(41 * time.Second)
				granted, err := r.RunOnce(context.WithoutCancel(ctx))
				assert.NoError(t, err)
				assert.Equal(t, 1, granted)
				return mortise.NewSecret("first"), failure
			}})
			i := r.invite(t, "alan@example.com")
			_, reply, err := r.Accept(t.Context(), r.link(&i), "")
			if failure == nil {
				assert.NoError(t, err)
				assert.Equal(t, "first", reply.Reveal())
			} else {
				assert.ErrorIs(t, err, authmgmt.ErrGrantPending)
			}
			ended, err := r.AnyInvitation(t.Context(), "acme", i.ID)
			require.NoError(t, err)
			assert.Equal(t, r.now().Truncate(time.Microsecond), ended.GrantedAt)
			assert.Equal(t, 2, ended.GrantAttempts)
			count := 0
			for _, e := range r.trail(t, "acme") {
				if e.Kind == mortise.KindGranted {
					count++
				}
			}
			assert.Equal(t, 1, count)
			granted, err := r.RunOnce(t.Context())
			assert.NoError(t, err)
			assert.Zero(t, granted)
		})
	}
}

// A secret that ends while somebody logs in with it is as one that had ended before.
func TestLoginLosesToWhatComesBetween(t *testing.T) {
	s, store, r := newBetween(t, authmgmt.Options{})
	c, secret := r.newClient(t)
	store.before = func() { require.NoError(t, r.DeleteClient(t.Context(), "acme", full, c.ID)) }
	_, _, err := s.Login(t.Context(), c.ID, secret)
	assert.Equal(t, authmgmt.ErrInvalidCredentials, err)
}

// What was read before a change is not remembered after it.
func TestTokenCacheDropsWhatWasReadBefore(t *testing.T) {
	s, store, r := newBetween(t, authmgmt.Options{TokenCache: time.Minute})
	token, text, err := s.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "s", FullAccess: true})
	require.NoError(t, err)
	store.after = func() { require.NoError(t, s.RevokeToken(t.Context(), "acme", full, token.ID)) }
	_, err = s.VerifyToken(t.Context(), text.Reveal()) // it was valid when it was read
	require.NoError(t, err)
	_, err = s.VerifyToken(t.Context(), text.Reveal())
	assert.Equal(t, authmgmt.ErrInvalidCredentials, err)

	// A change that failed may still be made: for a while nothing is remembered.
	token, text, err = s.IssueToken(t.Context(), "acme", full, authmgmt.NewToken{Subject: "s", FullAccess: true})
	require.NoError(t, err)
	gone := errors.New("the caller has left")
	s2, err := authmgmt.New(authmgmt.Backend{Store: &lateStore{Store: store, err: gone}}, &authmgmt.Options{TokenCache: time.Minute, Env: mortise.Env{Now: r.now}})
	require.NoError(t, err)
	require.ErrorIs(t, s2.RevokeToken(t.Context(), "acme", full, token.ID), gone)
	_, err = s2.VerifyToken(t.Context(), text.Reveal())
	require.NoError(t, err)
	require.NoError(t, r.RevokeToken(t.Context(), "acme", full, token.ID)) // now it is made
	_, err = s2.VerifyToken(t.Context(), text.Reveal())
	assert.Equal(t, authmgmt.ErrInvalidCredentials, err)
}

// lateStore does not make changes of tokens, and says that it cannot tell.
type lateStore struct {
	authmgmt.Store
	err error
}

func (l *lateStore) UpdateToken(context.Context, string, uuid.UUID, func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	return l.err
}
