package authmgmttest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
)

var full = authmgmt.Caller{Actor: "user:bob", Access: access.Full()}

// annInvited returns what an invitation is made of.
func annInvited() authmgmt.NewInvitation {
	return authmgmt.NewInvitation{ID: "ann", Email: "ann@example.com", Name: "Ann", FullAccess: true}
}

func TestFake(t *testing.T) {
	f := authmgmttest.New(t, nil)
	assert.Zero(t, f.Drain(t.Context()))
	assert.Empty(t, f.AuditTrail())
	start := f.Now()
	for _, org := range []string{"b", "a", "b"} {
		_, _, err := f.CreateClient(t.Context(), org, full, authmgmt.NewClient{Name: org, Roles: []access.Role{{ID: "viewer"}}})
		require.NoError(t, err)
		f.Advance(time.Second)
	}
	assert.Equal(t, start.Add(3*time.Second), f.Now())
	var orgs []string
	for _, e := range f.AuditTrail() {
		orgs = append(orgs, e.Organization)
		assert.Equal(t, mortise.KindClientCreated, e.Kind)
	}
	assert.Equal(t, []string{"b", "a", "b"}, orgs, "oldest first")
	observed := f.Observations()
	assert.Len(t, observed, 3)
	observed[0].Kind = "changed"
	assert.NotEqual(t, observed[0], f.Observations()[0], "a copy")
}

// TestEventsAreInOrder: what happened at one time is shown as it happened.
func TestEventsAreInOrder(t *testing.T) {
	f := authmgmttest.New(t, &authmgmttest.Options{Service: authmgmt.Options{
		Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.Secret{}, nil
		},
	}})
	for range 20 {
		n := annInvited()
		n.ID = uuid.NewString()
		i, err := f.Invite(t.Context(), "acme", full, n)
		require.NoError(t, err)
		_, _, err = f.Accept(t.Context(), link(t, f, &i), "")
		require.NoError(t, err)
	}
	want := []mortise.Kind{mortise.KindInvited, mortise.KindAccepted, mortise.KindGranted}
	for i, e := range f.AuditTrail() {
		assert.Equal(t, want[i%3], e.Kind, i)
	}
}

func link(t *testing.T, f *authmgmttest.Fake, i *authmgmt.Invitation) string {
	t.Helper()
	token, err := f.LinkToken(t.Context(), i)
	require.NoError(t, err)
	return token.Reveal()
}

func TestFakeKeepsTheHostsSettings(t *testing.T) {
	heard := 0
	key, err := authmgmt.NewInvitationKey([]byte("not random, and nobody's key !?>"))
	require.NoError(t, err)
	f := authmgmttest.New(t, &authmgmttest.Options{
		Directory: true,
		Service: authmgmt.Options{
			AcceptURL: "https://own.example.com/", InvitationKey: key,
			Env: mortise.Env{Observer: func(context.Context, mortise.Observation) { heard++ }},
		},
	})
	_, _, err = f.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "a", FullAccess: true})
	require.NoError(t, err)
	viewer := authmgmt.NewClient{Name: "b", Roles: []access.Role{{ID: "viewer"}}}
	_, _, err = f.CreateClient(t.Context(), "acme", full, viewer)
	require.ErrorIs(t, err, authmgmt.ErrRBACDisabled)
	require.NoError(t, f.SetRBAC(t.Context(), "acme", full, true))
	_, _, err = f.CreateClient(t.Context(), "acme", full, viewer)
	require.NoError(t, err)
	i, err := f.Invite(t.Context(), "acme", full, annInvited())
	require.NoError(t, err)
	url, err := f.URL(t.Context(), &i)
	require.NoError(t, err)
	assert.Contains(t, url.Reveal(), "https://own.example.com/")
	assert.NotEqual(t, link(t, authmgmttest.New(t, nil), &i), link(t, f, &i), "the key is the host's")
	assert.Equal(t, len(f.Observations()), heard)
}

func TestBreak(t *testing.T) {
	f := authmgmttest.New(t, &authmgmttest.Options{Directory: true})
	_, secret, err := f.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{ID: "build", Name: "a", FullAccess: true})
	require.NoError(t, err)
	_, token, err := f.Login(t.Context(), "build", secret.Reveal())
	require.NoError(t, err)
	calls := map[authmgmttest.Part]func() error{
		authmgmttest.ClientsPart: func() error { _, err := f.Client(t.Context(), "acme", "build"); return err },
		authmgmttest.TokensPart:  func() error { _, err := f.VerifyToken(t.Context(), token.Reveal()); return err },
		authmgmttest.InvitationsPart: func() error {
			_, err := f.ListInvitations(t.Context(), "acme", "", "", 0)
			return err
		},
		authmgmttest.AuditPart: func() error {
			_, err := f.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{})
			return err
		},
		authmgmttest.PrunerPart: func() error {
			_, err := f.Prune(t.Context(), authmgmt.Retention{Audit: time.Hour})
			return err
		},
		authmgmttest.KeyCheckerPart: func() error { return f.CheckKey(t.Context()) },
		authmgmttest.DirectoryPart:  func() error { return f.SetRBAC(t.Context(), "acme", full, false) },
	}
	for broken := range calls {
		heal := f.Break(broken)
		for part, call := range calls {
			if part == broken {
				require.ErrorIs(t, call(), mortise.ErrUnavailable, part)
			} else {
				require.NoError(t, call(), "%s while %s is broken", part, broken)
			}
		}
		heal()
		require.NoError(t, calls[broken](), broken)
	}
	first, second := f.Break(authmgmttest.StorePart), f.Break(authmgmttest.StorePart)
	first()
	first()
	for part, call := range calls {
		if part != authmgmttest.DirectoryPart {
			require.ErrorIs(t, call(), authmgmttest.ErrInjected, "broken twice, healed once: %s", part)
		}
	}
	assert.Len(t, f.AuditTrail(), 2, "a broken fake can be looked at")
	second()
	for _, call := range calls {
		require.NoError(t, call())
	}
}

func TestDrain(t *testing.T) {
	var fail error
	f := authmgmttest.New(t, &authmgmttest.Options{Service: authmgmt.Options{
		Grant: func(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
			if a.Attended {
				return mortise.Secret{}, errors.New("later")
			}
			return mortise.Secret{}, fail
		},
	}})
	const n = 250 // more than one turn looks at
	for range n {
		i, err := f.ImportInvitation(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "ann@example.com", Name: "Ann", FullAccess: true})
		require.NoError(t, err)
		_, _, err = f.Accept(t.Context(), link(t, f, &i), "")
		require.ErrorIs(t, err, authmgmt.ErrGrantPending)
	}
	f.Advance(time.Hour)
	fail = errors.New("not yet")
	assert.Zero(t, f.Drain(t.Context()))
	fail = nil
	assert.Zero(t, f.Drain(t.Context()), "they wait for their next attempt")
	f.Advance(time.Hour)
	heal := f.Break(authmgmttest.InvitationsPart)
	assert.Zero(t, f.Drain(t.Context()))
	heal()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Zero(t, f.Drain(ended))
	assert.Equal(t, n, f.Drain(t.Context()))
	assert.Zero(t, f.Drain(t.Context()))
}

func TestFakeIsSafeForConcurrentUse(t *testing.T) {
	f := authmgmttest.New(t, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				heal := f.Break(authmgmttest.KeyCheckerPart)
				_, _, err := f.CreateClient(t.Context(), "acme", full, authmgmt.NewClient{Name: "a", FullAccess: true})
				assert.NoError(t, err)
				f.Advance(time.Millisecond)
				f.Drain(t.Context())
				f.AuditTrail()
				heal()
			}
		})
	}
	wg.Wait()
	assert.Len(t, f.AuditTrail(), 160)
}

func TestFakeGoesByTheClockItIsGiven(t *testing.T) {
	clock := new(authmgmttest.Clock)
	clock.Advance(time.Hour)
	f := authmgmttest.New(t, &authmgmttest.Options{Clock: clock})
	assert.Same(t, clock, f.Clock)
	clock.Advance(time.Minute)
	assert.Equal(t, clock.Now(), f.Now())
	f.Advance(time.Minute)
	assert.Equal(t, clock.Now(), f.Now())
	assert.NotSame(t, authmgmttest.New(t, nil).Clock, authmgmttest.New(t, nil).Clock, "by default each has its own")
}
