package trigger

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
)

// bulkAtOnce is how many events a bulk action changes at a time: stores put waiting writes
// into one transaction.
const bulkAtOnce = 16

// CancelEvents cancels the events of an organization that q selects and that have not ended:
// q.Limit of them at most, 0 means [mortise.MaxPageSize]. It returns how many it has changed,
// and whether others may be left; then call it again. Each event is changed by itself, as by
// [Service.Cancel]. q.After and q.Bytes are ignored. After an error a part may be changed.
func (s *Service) CancelEvents(ctx context.Context, org string, by mortise.Actor, q EventQuery) (changed int, more bool, err error) {
	return s.each(ctx, org, q, func(status Status) bool { return !status.Finished() }, func(ctx context.Context, id uuid.UUID) error {
		_, err := s.Cancel(ctx, org, by, id)
		return err
	})
}

// RetryEvents does [Service.Retry] of the events of an organization that q selects and that
// have failed, or were cancelled or superseded. Otherwise it works like
// [Service.CancelEvents]. An event that has failed again before the next call is selected
// again: end the loop after as many calls as there were failed events, at the latest.
func (s *Service) RetryEvents(ctx context.Context, org string, by mortise.Actor, q EventQuery) (changed int, more bool, err error) {
	return s.each(ctx, org, q, Status.retryable, func(ctx context.Context, id uuid.UUID) error {
		_, err := s.Retry(ctx, org, by, id)
		return err
	})
}

// each calls act for events that q selects and whose status is wanted. The act takes an event
// out of the list that it came from, so a page is always the first one.
func (s *Service) each(
	ctx context.Context, org string, q EventQuery, wanted func(Status) bool, act func(ctx context.Context, id uuid.UUID) error,
) (changed int, more bool, err error) {
	if q.Limit == 0 {
		q.Limit = mortise.MaxPageSize
	}
	statuses := []Status{q.Status}
	if q.Status == "" {
		statuses = Statuses()
	}
	left := q.Limit
	for _, status := range statuses {
		if !slices.Contains(Statuses(), status) || wanted(status) {
			q.After, q.Bytes, q.Status, q.Limit = "", listBytes, status, left
			n, rest, err := s.eachOf(ctx, org, q, act)
			changed, left, more = changed+n, left-n, more || rest
			if err != nil || left == 0 {
				return changed, more || left == 0, err
			}
		}
	}
	return changed, more, nil
}

// listBytes bounds the memory of a page of a bulk action.
const listBytes = 4 << 20

// eachOf acts on one page of events.
func (s *Service) eachOf(
	ctx context.Context, org string, q EventQuery, act func(ctx context.Context, id uuid.UUID) error,
) (changed int, more bool, err error) {
	page, err := s.ListEvents(ctx, org, q)
	if err != nil {
		return 0, false, err
	}
	var n atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(bulkAtOnce)
	if s.inHostTx(ctx, nil) { // which is one connection
		g.SetLimit(1)
	}
	for i := range page.Items {
		g.Go(func() error {
			switch err := act(ctx, page.Items[i].ID); {
			case err == nil:
				n.Add(1)
			case errors.Is(err, ErrNotCancellable), errors.Is(err, ErrNotRetryable), errors.Is(err, mortise.ErrNotFound):
				// another call was faster
			default:
				return err
			}
			return nil
		})
	}
	err = g.Wait()
	return int(n.Load()), page.Next != "", err
}
