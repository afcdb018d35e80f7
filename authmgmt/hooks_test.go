package authmgmt_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// hooks are an observer, a Deliver and a Grant. What is named by broken panics with what it
// was given.
type hooks struct{ broken string }

func (h *hooks) call(name string, given any) {
	if h.broken == name {
		panic(given)
	}
}

func (h *hooks) observe(_ context.Context, o mortise.Observation) { h.call("Observe", o) }

func (h *hooks) deliver(_ context.Context, _ authmgmt.Invitation, url mortise.Secret) error {
	h.call("Deliver", url.Reveal())
	return nil
}

func (h *hooks) grant(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
	h.call("Grant", a.Invitation.Email)
	if h.broken == "the error of Grant" {
		return mortise.Secret{}, (*net.OpError)(nil)
	}
	return mortise.Secret{}, nil
}

// A panic of a hook that can run in the background is logged with its stack, and nothing of
// what it was given. A delivery that panics has failed, and so has an attempt of Run to grant
// whose Grant, or the error of it, panics: Run goes on, and makes another one. A panic of an
// observer changes nothing.
func TestPanicsOfHooks(t *testing.T) {
	for _, broken := range []string{"", "Observe", "Deliver", "Grant", "the error of Grant"} {
		t.Run(broken, func(t *testing.T) {
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			h, logs, now := &hooks{broken}, new(syncBuffer), begin
			s, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, &authmgmt.Options{
				InvitationKey: testKey,
				Env:           mortise.Env{Observer: h.observe, Logger: slog.New(slog.NewTextHandler(logs, nil)), Now: func() time.Time { return now }}, Deliver: h.deliver, Grant: h.grant,
				AcceptURL: "https://app.example.com/join/",
			})
			require.NoError(t, err)
			i, err := s.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "ada@example.com", Name: "Ada", Roles: roles("viewer")})
			require.NoError(t, err)
			link, err := s.LinkToken(t.Context(), &i)
			require.NoError(t, err)
			if strings.HasSuffix(broken, "Grant") {
				accept := func() { _, _, _ = s.Accept(t.Context(), link.Reveal(), "") }
				require.Panics(t, accept, "who accepts hears of it")
				now = now.Add(time.Hour)
				granted, err := s.RunOnce(t.Context())
				require.NoError(t, err, "Run goes on")
				require.Zero(t, granted)
				h.broken = ""
				now = now.Add(time.Hour)
				granted, err = s.RunOnce(t.Context())
				require.NoError(t, err)
				require.Equal(t, 1, granted)
			} else {
				_, _, err := s.Accept(t.Context(), link.Reveal(), "")
				require.NoError(t, err)
			}
			if broken == "" {
				require.Empty(t, logs.String())
				return
			}
			assert.Contains(t, logs.String(), "level=ERROR")
			where := "hooks).call"
			if broken == "the error of Grant" {
				where = "net.(*OpError)"
			}
			assert.Contains(t, logs.String(), where, "its stack")
			for _, given := range []string{"ada@example.com", link.Reveal()} {
				assert.NotContains(t, logs.String(), given)
			}
		})
	}
}
