package trigger

import (
	"context"
	"iter"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// Position returns the key's place in a list.
func (k *APIKey) Position() mortise.Position {
	return mortise.Position{At: k.CreatedAt, ID: string(k.ID[:])}
}

// ListKeys returns a page of the organization's keys, oldest first, revoked ones
// included. Limit 0 means 50; a limit below 0 or over [mortise.MaxPageSize], and a text
// that is no cursor, are a [*mortise.ValidationError].
func (s *Service) ListKeys(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[APIKey], error) {
	if s.keys == nil {
		return mortise.Page[APIKey]{}, errNoKeys
	}
	var p failure.Problems
	limit = failure.Page(&p, after, limit, pages.ByUUID)
	if err := p.Err(); err != nil {
		return mortise.Page[APIKey]{}, err
	}
	page, err := s.keys.ListKeys(ctx, org, after, limit)
	if err == nil {
		err = pages.Check(page, after, limit)
	}
	return page, failure.Unavailable("list keys", err)
}

// Keys iterates over the organization's API keys, oldest first, revoked ones included,
// page by page. Each key that is there all the time comes once, whatever comes and goes
// meanwhile. It ends after the first error.
func (s *Service) Keys(ctx context.Context, org string) iter.Seq2[APIKey, error] {
	return pages.Each("", func(after mortise.Cursor) (mortise.Page[APIKey], error) {
		return s.ListKeys(ctx, org, after, 0)
	})
}
