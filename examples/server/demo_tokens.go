package main

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// demoSubject is who the demo's access token speaks for. Neither a client's token has this subject nor that of a person, which is an email
// address.
const demoSubject = "demo"

// demoTokens has the demo's access token in memory, in front of what the storage has, and for the same reasons as demoKeys. All other
// tokens are stored: those of clients, and those of people who accepted an invitation.
type demoTokens struct {
	authmgmtStore
	own authmgmt.Tokens
}

// CreateToken implements [authmgmt.Tokens]. The ID and the digest of the demo's token are random, so that both are in one of the two
// places at most.
func (d *demoTokens) CreateToken(ctx context.Context, t authmgmt.Token, a authmgmt.AuditEvent) error {
	if t.Subject == demoSubject {
		return d.own.CreateToken(ctx, t, a)
	}
	return d.authmgmtStore.CreateToken(ctx, t, a)
}

// TokenByDigest implements [authmgmt.Tokens].
func (d *demoTokens) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	t, err := d.own.TokenByDigest(ctx, digest)
	if errors.Is(err, authmgmt.ErrNotFound) {
		return d.authmgmtStore.TokenByDigest(ctx, digest)
	}
	return t, err
}

// UpdateToken implements [authmgmt.Tokens].
func (d *demoTokens) UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	err := d.own.UpdateToken(ctx, org, id, update)
	if errors.Is(err, authmgmt.ErrNotFound) {
		return d.authmgmtStore.UpdateToken(ctx, org, id, update)
	}
	return err
}

// ListTokens implements [authmgmt.Tokens]. The demo's own stand first, whatever their age.
func (d *demoTokens) ListTokens(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.TokenPage, error) {
	page, err := d.own.ListTokens(ctx, org, p)
	if err != nil {
		return authmgmt.TokenPage{}, err
	}
	rest := authmgmt.Paging{Offset: max(p.Offset-page.Total, 0), Limit: max(p.Limit-len(page.Tokens), 1)} // 1 for the total
	stored, err := d.authmgmtStore.ListTokens(ctx, org, rest)
	if err != nil {
		return authmgmt.TokenPage{}, err
	}
	all := append(page.Tokens, stored.Tokens...)
	return authmgmt.TokenPage{Tokens: all[:min(p.Limit, len(all))], Total: page.Total + stored.Total}, nil
}
