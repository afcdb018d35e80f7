package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// demoSubject is who the demo's access token speaks for. Neither a client's token has
// this subject nor that of a person, which is an email address.
const demoSubject = "demo"

// credentialStore is what the storages of this program have for the credentials service.
type credentialStore interface {
	authmgmt.Store
	authmgmt.KeyChecker
	authmgmt.Pruner
}

// demoTokens has the demo's access token in memory, in front of what the storage has, and
// for the same reasons as demoKeys. All other tokens are stored: those of clients, and
// those of people who accepted an invitation.
type demoTokens struct {
	credentialStore
	own authmgmt.Store
}

// CreateToken implements [authmgmt.Tokens]. The ID and the digest of the demo's token are
// random, so that both are in one of the two places at most.
func (d *demoTokens) CreateToken(ctx context.Context, t authmgmt.Token, a authmgmt.AuditEvent) error {
	if t.Subject == demoSubject {
		return d.own.CreateToken(ctx, t, a)
	}
	return d.credentialStore.CreateToken(ctx, t, a)
}

// TokenByDigest implements [authmgmt.Tokens].
func (d *demoTokens) TokenByDigest(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
	t, err := d.own.TokenByDigest(ctx, digest)
	if errors.Is(err, authmgmt.ErrNotFound) {
		return d.credentialStore.TokenByDigest(ctx, digest)
	}
	return t, err
}

// UpdateToken implements [authmgmt.Tokens].
func (d *demoTokens) UpdateToken(ctx context.Context, org string, id uuid.UUID, update func(*authmgmt.Token) (authmgmt.AuditEvent, error)) error {
	err := d.own.UpdateToken(ctx, org, id, update)
	if errors.Is(err, authmgmt.ErrNotFound) {
		return d.credentialStore.UpdateToken(ctx, org, id, update)
	}
	return err
}

// ListTokens implements [authmgmt.Tokens]. The demo's own are few: they fit into one
// page.
func (d *demoTokens) ListTokens(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
	own, err := d.own.ListTokens(ctx, org, authmgmt.Paging{After: p.After, Limit: authmgmt.MaxPageSize})
	if err != nil || p.Limit <= 0 {
		return authmgmt.Page[authmgmt.Token]{}, err
	}
	// Each of them may push one of the storage's from the page before onto this one.
	from := max(p.Offset-len(own.Items), 0)
	page, err := d.credentialStore.ListTokens(ctx, org, authmgmt.Paging{
		After: p.After, Offset: from, Limit: p.Limit + p.Offset - from, Total: p.Total,
	})
	if err != nil {
		return authmgmt.Page[authmgmt.Token]{}, err
	}
	merged := authmgmt.Page[authmgmt.Token]{}
	if p.Total {
		merged.Total = page.Total + len(own.Items)
	}
	if from > 0 && len(page.Items) == 0 {
		return merged, nil
	}
	skip := p.Offset - from
	all := page.Items
	for _, t := range own.Items {
		if from > 0 && t.Position().Compare(all[0].Position()) > 0 {
			skip-- // it stands before what was read
		} else {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b authmgmt.Token) int { return b.Position().Compare(a.Position()) })
	all = all[min(skip, len(all)):]
	merged.Items = all[:min(p.Limit, len(all))]
	if n := len(merged.Items); n > 0 && (len(all) > n || !page.Next.IsZero()) {
		merged.Next = merged.Items[n-1].Position()
	}
	return merged, nil
}

// Stats implements [authmgmt.Counter].
func (d *demoTokens) Stats(ctx context.Context, org string, now time.Time, most int) (authmgmt.Stats, error) {
	own, err := d.own.Stats(ctx, org, now, most)
	if err != nil {
		return authmgmt.Stats{}, err
	}
	stats, err := d.credentialStore.Stats(ctx, org, now, most)
	if err != nil {
		return authmgmt.Stats{}, err
	}
	all := mortise.CountUpTo(stats.Tokens.N+own.Tokens.N, most)
	all.More = all.More || stats.Tokens.More || own.Tokens.More
	stats.Tokens = all
	return stats, nil
}
