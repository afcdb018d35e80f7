package authmgmttest_test

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// prunerMutants forget too much or too little.
var prunerMutants = []broken{
	{name: "prunes what ends at the time", breaks: "pruner/audit pruner/tokens pruner/invitations", mutate: arg(
		func(before *time.Time) { *before = before.Add(time.Microsecond) }, pruners...)},
	{name: "prunes nothing and says so much",
		breaks: "pruner/audit pruner/tokens pruner/tokens-are-forgotten pruner/invitations " +
			"pruner/invitations-are-forgotten pruner/durable",
		mutate: around(func(c *mutate.Call) {
			if mutate.Get[time.Time](c.In).Year() >= 2020 {
				*mutate.Get[int](c.Out) = 1
			}
		}, pruners...)},
	{name: "keeps what it forgot", breaks: "pruner/tokens-are-forgotten pruner/invitations-are-forgotten", mutate: func(m *mutant) {
		tokens, invitations := make(map[uuid.UUID]bool), make(map[string]bool)
		m.On.CreateToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			if tokens[k.ID] {
				return mortise.ErrExists
			}
			tokens[k.ID] = true
			return m.AuthMgmt.CreateToken(ctx, k, e)
		}
		m.On.CreateInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
			if invitations[i.ID] {
				return mortise.ErrExists
			}
			invitations[i.ID] = true
			return m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e)
		}
	}},
	{name: "takes never for long ago", breaks: "pruner/tokens-that-never-expire steps/prune-tokens", mutate: in(func(k *authmgmt.Token) {
		if k.ExpiresAt.IsZero() {
			k.ExpiresAt = time.Unix(0, 0)
		}
	}, "CreateToken")},
	{name: "prunes accepted invitations by their expiry", breaks: "pruner/invitations-not-granted", mutate: in(func(i *authmgmt.Invitation) {
		if !i.AcceptedAt.IsZero() && i.GrantedAt.IsZero() {
			i.GrantedAt = i.ExpiresAt
		}
	}, "CreateInvitation")},
	{name: "prunes cancelled invitations by their expiry", breaks: "pruner/invitations", mutate: in(func(i *authmgmt.Invitation) {
		if !i.CancelledAt.IsZero() {
			i.CancelledAt = i.ExpiresAt
		}
	}, "CreateInvitation")},
}
