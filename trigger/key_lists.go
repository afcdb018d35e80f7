package trigger

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// KeyQuery selects a stretch of the listing of an organization's API keys.
type KeyQuery struct {
	After mortise.Position // only keys that follow this place; zero: from the start

	// Limit is how many keys a page may hold, at most mortise.MaxPageSize. To a store, 0 and
	// less is 0: the page is empty, and its Next is zero. Service.ListKeys takes 0 for 50.
	Limit int
}

// Position returns the key's place in the listing.
func (k *APIKey) Position() mortise.Position { return mortise.Position{At: k.CreatedAt, ID: k.ID} }

// ListKeys returns a page of the organization's keys, oldest first, revoked ones
// included. Limit 0 means 50; one below 0 or over [mortise.MaxPageSize] is a
// [*mortise.ValidationError].
func (s *Service) ListKeys(ctx context.Context, org string, q KeyQuery) (mortise.Page[APIKey], error) {
	if s.keys == nil {
		return mortise.Page[APIKey]{}, errNoKeys
	}
	var p failure.Problems
	q.Limit = p.Limit(q.Limit)
	// Stores count microseconds, so no key stands between two of them, nor further away
	// than 64 bits reach.
	if at := q.After.At; !at.Equal(time.UnixMicro(at.UnixMicro())) {
		p.Add("after", "must be a position that a page or mortise.ParsePosition returned")
	}
	if err := p.Err(); err != nil {
		return mortise.Page[APIKey]{}, err
	}
	page, err := s.keys.ListKeys(ctx, org, q)
	return page, failure.Unavailable("list keys", err)
}

// Keys iterates over the organization's API keys, oldest first, revoked ones included,
// page by page. Each key that is there all the time comes once, whatever comes and goes
// meanwhile. It ends after the first error.
func (s *Service) Keys(ctx context.Context, org string) iter.Seq2[APIKey, error] {
	return pages.Each(mortise.Position{}, errStands, func(after mortise.Position) ([]APIKey, mortise.Position, bool, error) {
		page, err := s.ListKeys(ctx, org, KeyQuery{After: after, Limit: keyIteratorPage})
		return page.Items, page.Next, page.Next.Compare(after) != 0, err
	})
}

var errStands = fmt.Errorf("%w: it returned a page that goes on where it began", mortise.ErrUnavailable)

// keyIteratorPage is how many keys an iterator asks for at once.
const keyIteratorPage = 100
