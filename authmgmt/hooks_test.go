package authmgmt_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// hooks are everything that a host can plug in. What is named by broken panics with what
// it was given.
type hooks struct{ broken string }

func (h *hooks) call(name string, given any) {
	if h.broken == name {
		panic(given)
	}
}

func (h *hooks) AccessControl(_ context.Context, org string) (authmgmt.Organization, error) {
	h.call("Organization", org)
	return authmgmt.Organization{ID: org, RBAC: true}, nil
}

func (h *hooks) observe(_ context.Context, o mortise.Observation) { h.call("Observe", o) }

func (h *hooks) admit(_ context.Context, i authmgmt.Invitation, _ mortise.Actor) error {
	h.call("Admit", i.Email)
	return nil
}

func (h *hooks) deliver(_ context.Context, _ authmgmt.Invitation, url mortise.Secret) error {
	h.call("Deliver", url.Reveal())
	return nil
}

func (h *hooks) grant(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
	h.call("Grant", a.Invitation.Email)
	return mortise.NewSecret("welcome"), nil
}

// A panic of a hook is logged with its stack, and nothing of what it was given. A
// directory or an Admit that panics is one that is away; a grant or a delivery that
// panics has failed; an observer's panic changes nothing. The service works on.
func TestPanicsOfHooks(t *testing.T) {
	for _, broken := range []string{"", "Organization", "Observe", "Admit", "Deliver", "Grant"} {
		t.Run(broken, func(t *testing.T) {
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			h, logs, now := &hooks{broken}, new(syncBuffer), begin
			s, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store, Directory: h}, &authmgmt.Options{
				InvitationKey: testKey,
				Env:           mortise.Env{Observer: h.observe, Logger: slog.New(slog.NewTextHandler(logs, nil)), Now: func() time.Time { return now }}, Admit: h.admit, Deliver: h.deliver, Grant: h.grant,
				AcceptURL: "https://app.example.com/join/",
			})
			require.NoError(t, err)
			// failsOnce makes a call again, after the hook was repaired, if it is the one
			// that fails.
			failsOnce := func(hook string, want error, call func() error) {
				t.Helper()
				err := call()
				if broken == hook {
					require.ErrorIs(t, err, want)
					require.NotContains(t, err.Error(), "ada@example.com")
					h.broken = ""
					now = now.Add(time.Hour)
					err = call()
				}
				require.NoError(t, err)
			}

			var i authmgmt.Invitation
			failsOnce("Organization", mortise.ErrUnavailable, func() (err error) {
				i, err = s.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "ada@example.com", Name: "Ada", Roles: roles("viewer")})
				return err
			})
			link, err := s.LinkToken(t.Context(), &i)
			require.NoError(t, err)
			switch broken {
			case "Admit":
				failsOnce("Admit", mortise.ErrUnavailable, func() error {
					_, _, err := s.Accept(t.Context(), link.Reveal(), "")
					assert.NotErrorIs(t, err, authmgmt.ErrForbidden, "nobody has said so")
					return err
				})
			case "Grant":
				_, _, err := s.Accept(t.Context(), link.Reveal(), "")
				require.ErrorIs(t, err, authmgmt.ErrGrantPending)
				now = now.Add(time.Hour)
				granted, err := s.RunOnce(t.Context())
				require.NoError(t, err, "Run goes on")
				require.Zero(t, granted)
				h.broken = ""
				now = now.Add(time.Hour)
				granted, err = s.RunOnce(t.Context())
				require.NoError(t, err)
				require.Equal(t, 1, granted)
			default:
				_, reply, err := s.Accept(t.Context(), link.Reveal(), "")
				require.NoError(t, err)
				require.Equal(t, "welcome", reply.Reveal())
			}
			if broken == "" {
				require.Empty(t, logs.String())
				return
			}
			assert.Contains(t, logs.String(), "level=ERROR")
			assert.Contains(t, logs.String(), "hooks).call", "its stack")
			for _, given := range []string{"ada@example.com", link.Reveal()} {
				assert.NotContains(t, logs.String(), given)
			}
		})
	}
}

// TestErrorsThatPanic: an error whose methods panic, such as a nil pointer that was
// returned as an error, is a panic of the hook. It does not end Run.
func TestErrorsThatPanic(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	var broken error = (*net.OpError)(nil)
	now := begin
	s, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, &authmgmt.Options{
		InvitationKey: testKey, AcceptURL: "https://app.example.com/join/", Env: mortise.Env{Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }},
		Admit: func(context.Context, authmgmt.Invitation, mortise.Actor) error { return broken },
		Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.Secret{}, (*net.OpError)(nil)
		},
	})
	require.NoError(t, err)
	i, err := s.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "ada@example.com", Name: "Ada", Roles: roles("viewer")})
	require.NoError(t, err)
	link, err := s.LinkToken(t.Context(), &i)
	require.NoError(t, err)
	_, _, err = s.Accept(t.Context(), link.Reveal(), "")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	broken = nil
	_, _, err = s.Accept(t.Context(), link.Reveal(), "")
	require.ErrorIs(t, err, authmgmt.ErrGrantPending)
	now = now.Add(time.Hour)
	granted, err := s.RunOnce(t.Context())
	require.NoError(t, err)
	require.Zero(t, granted)
}
