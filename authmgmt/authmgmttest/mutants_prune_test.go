package authmgmttest_test

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// prunerMutants forget too much or too little.
var prunerMutants = []broken{
	{name: "prunes what ends at the time", breaks: []string{"pruner/audit", "pruner/tokens", "pruner/invitations"}, mutate: func(m *mutant) {
		m.pruneAudit = func(ctx context.Context, before time.Time, limit int) (int, error) {
			return m.AuthMgmt.PruneAudit(ctx, before.Add(time.Microsecond), limit)
		}
		m.pruneTokens = func(ctx context.Context, before time.Time, limit int) (int, error) {
			return m.AuthMgmt.PruneTokens(ctx, before.Add(time.Microsecond), limit)
		}
		m.pruneInvitations = func(ctx context.Context, before time.Time, limit int) (int, error) {
			return m.AuthMgmt.PruneInvitations(ctx, before.Add(time.Microsecond), limit)
		}
	}},
	{name: "prunes without a limit", breaks: []string{
		"pruner/audit-limit", "pruner/tokens-limit", "pruner/invitations-limit",
	}, mutate: func(m *mutant) {
		m.pruneAudit = func(ctx context.Context, before time.Time, _ int) (int, error) {
			return m.AuthMgmt.PruneAudit(ctx, before, 1000)
		}
		m.pruneTokens = func(ctx context.Context, before time.Time, _ int) (int, error) {
			return m.AuthMgmt.PruneTokens(ctx, before, 1000)
		}
		m.pruneInvitations = func(ctx context.Context, before time.Time, _ int) (int, error) {
			return m.AuthMgmt.PruneInvitations(ctx, before, 1000)
		}
	}},
	{name: "prunes nothing and says so much", breaks: []string{
		"pruner/audit", "pruner/tokens", "pruner/tokens-are-forgotten", "pruner/invitations", "pruner/invitations-are-forgotten", "pruner/durable",
	}, mutate: func(m *mutant) {
		prune := func(_ context.Context, before time.Time, limit int) (int, error) {
			if before.Year() < 2020 {
				return 0, nil
			}
			return 1, nil
		}
		m.pruneAudit, m.pruneTokens, m.pruneInvitations = prune, prune, prune
	}},
	{name: "keeps what it forgot", breaks: []string{
		"pruner/tokens-are-forgotten", "pruner/invitations-are-forgotten",
	}, mutate: func(m *mutant) {
		tokens, invitations := make(map[uuid.UUID]bool), make(map[string]bool)
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			if tokens[k.ID] {
				return authmgmt.ErrExists
			}
			tokens[k.ID] = true
			return m.AuthMgmt.CreateToken(ctx, k, e)
		}
		m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
			if invitations[i.ID] {
				return authmgmt.ErrExists
			}
			invitations[i.ID] = true
			return m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e)
		}
	}},
	{name: "takes never for long ago", breaks: []string{"pruner/tokens-that-never-expire", "pruner/tokens-limit"}, mutate: func(m *mutant) {
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			if k.ExpiresAt.IsZero() {
				k.ExpiresAt = time.Unix(0, 0)
			}
			return m.AuthMgmt.CreateToken(ctx, k, e)
		}
	}},
	{name: "prunes accepted invitations by their expiry", breaks: []string{"pruner/invitations-not-granted"}, mutate: func(m *mutant) {
		m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
			if !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero() {
				i.GrantedAt = i.ExpiresAt
			}
			return m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e)
		}
	}},
	{name: "prunes cancelled invitations by their expiry", breaks: []string{"pruner/invitations"}, mutate: func(m *mutant) {
		m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
			if !i.CancelledAt.IsZero() {
				i.CancelledAt = i.ExpiresAt
			}
			return m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e)
		}
	}},
}
