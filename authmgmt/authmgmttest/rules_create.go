package authmgmttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// maker is one of the methods that create something. What is the same for all of them is
// tried on each.
type maker struct {
	group  string // of the rules
	method string
	// make returns a call that creates the nth thing in orgA. Those with the same n have
	// the same ID, and nothing else in common.
	make func(t *testing.T, s *subject, n int) func(ctx context.Context, e authmgmt.AuditEvent) error
	// total counts the things of orgA.
	total func(t *testing.T, s *subject) int
}

var makers = []maker{
	{"clients", "CreateClient",
		func(_ *testing.T, s *subject, n int) func(context.Context, authmgmt.AuditEvent) error {
			c := newClient(orgA, fmt.Sprint("c", n), 0)
			return func(ctx context.Context, e authmgmt.AuditEvent) error { return s.Store.CreateClient(ctx, c, e) }
		},
		func(t *testing.T, s *subject) int { return len(s.listClients(t, orgA)) }},
	{"tokens", "CreateToken",
		func(_ *testing.T, s *subject, n int) func(context.Context, authmgmt.AuditEvent) error {
			k := newToken(orgA, 0)
			k.ID = [16]byte{0: 1, 15: byte(n)}
			return func(ctx context.Context, e authmgmt.AuditEvent) error { return s.Store.CreateToken(ctx, k, e) }
		},
		func(t *testing.T, s *subject) int { return len(s.listTokens(t, orgA)) }},
	{"invitations", "CreateInvitation",
		func(_ *testing.T, s *subject, n int) func(context.Context, authmgmt.AuditEvent) error {
			i := newInvitation(orgA, fmt.Sprint("i", n), 0)
			return func(ctx context.Context, e authmgmt.AuditEvent) error {
				return s.Store.CreateInvitation(ctx, i, false, e)
			}
		},
		func(t *testing.T, s *subject) int { return len(s.listInvitations(t, orgA, time.Time{})) }},
}

// createRules are the rules that every method has that creates something.
func createRules() []rule {
	var rules []rule
	for _, m := range makers {
		rules = append(rules,
			rule{Rule{m.group + "/create-stores-the-event", m.method + " stores the audit event together with what it creates, every field of it."}, needStore, m.storesEvent},
			rule{Rule{m.group + "/create-refused-changes-nothing", m.method + " that is refused stores nothing, nor an event."}, needStore, m.refused},
			rule{Rule{m.group + "/create-concurrent", m.method + " is atomic: of many at once with one ID one is stored, with its event, and the others return ErrExists."}, needStore, m.concurrent},
		)
	}
	return rules
}

func (m *maker) storesEvent(t *testing.T, s *subject) {
	for n, e := range []authmgmt.AuditEvent{filledEvent(orgA, "filled"), newEvent(orgA, mortise.KindInvited, "plain", 0)} {
		require.NoError(t, m.make(t, s, n)(t.Context(), e.Clone()))
		s.HasEvent(t, e)
		require.Len(t, s.Trail(t, orgA), n+1)
	}
	require.Empty(t, s.Trail(t, orgB))
}

func (m *maker) refused(t *testing.T, s *subject) {
	first := filledEvent(orgA, "first")
	require.NoError(t, m.make(t, s, 1)(t.Context(), first))
	for range 3 {
		require.ErrorIs(t, m.make(t, s, 1)(t.Context(), filledEvent(orgA, "again")), mortise.ErrExists)
	}
	require.Equal(t, 1, m.total(t, s))
	require.Len(t, s.Trail(t, orgA), 1)
	s.HasEvent(t, first)
}

func (m *maker) concurrent(t *testing.T, s *subject) {
	for round := range 4 {
		var errs [50]error
		var calls [50]func(context.Context, authmgmt.AuditEvent) error
		var events [50]authmgmt.AuditEvent
		for i := range calls {
			calls[i], events[i] = m.make(t, s, round), newEvent(orgA, mortise.KindInvited, fmt.Sprint(i), 0)
		}
		conformance.Together(len(errs), func(i int) { errs[i] = calls[i](t.Context(), events[i]) })
		winner := conformance.OneWins(t, errs[:], mortise.ErrExists)
		s.HasEvent(t, events[winner])
		require.Equal(t, round+1, m.total(t, s))
		require.Len(t, s.Trail(t, orgA), round+1)
	}
}
