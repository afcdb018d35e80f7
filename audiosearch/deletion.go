package audiosearch

import (
	"context"
	"errors"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// Deletion is the part of a [Store] that deletes organizations. All methods are safe for
// concurrent use, and atomic.
//
// From the moment on at which an organization is marked, in the same transaction and
// for every process that shares the store, its objects read as missing: its
// datasets are ErrDatasetNotFound to all methods that take one, its runs are
// [ErrRunNotFound], its lists are empty, its Counts are zero, and neither Overdue nor
// Backlog knows of its runs. CreateDataset and CreateRun are [mortise.ErrDeleted],
// for every ID. Rows of other organizations do not change, nor do rows of organizations
// whose IDs begin with the same letters. A [Pruner] may go on to remove the rows of
// the organization.
//
// To RemoveDeleted a dataset and a run count as one row or as more, and a backend that has
// to look at each of their parts takes them apart in several calls. Where jobs are kept in
// the same database, the jobs of removed runs go with them, and do not count.
type Deletion interface{ mortise.Deletion }

// removeAtOnce is how many rows a call of DeleteOrganization removes at most, so that writes
// of other organizations need not wait long.
const removeAtOnce = 1000

// DeleteOrganization deletes everything that is kept of an organization. The first call
// marks it as deleted; every call then removes a bounded part of what there is, and
// reports whether there is more: call it until more is false. It may be cut off at any
// place and called again by anybody, on any server. This deletes what package audiosearch
// keeps of the organization; each of the other domains deletes its own.
//
// From the mark on the organization has no datasets and no runs, whoever asks, and
// nothing can be created in it: CreateDataset and EnsureDataset are
// [mortise.ErrDeleted], and so is Start if the mark comes while it is at work. Start,
// Search, PutVideos, Ingest and whatever else asks for a dataset first are
// [ErrDatasetNotFound]. Runs that workers have end without a word, and store nothing
// more. The mark is kept for ever: the ID is not given again.
//
// The Observer hears of the call that made the mark. The error is
// [mortise.ErrUnavailable].
func (s *Service) DeleteOrganization(ctx context.Context, org string, by mortise.Actor) (more bool, err error) {
	more, err = s.removeDeleted(ctx, org)
	if !errors.Is(err, mortise.ErrNotFound) {
		return more, unavailable("remove what a deleted organization has", err)
	}
	at := s.now()
	since, err := s.store.MarkDeleted(ctx, org, at)
	if err != nil {
		return false, unavailable("mark an organization as deleted", err)
	}
	if since.Equal(at) {
		s.opts.Logger.InfoContext(ctx, "audiosearch: an organization was deleted", "organization", org, "actor", string(by))
		s.observe(ctx, mortise.Observation{Kind: mortise.KindOrganizationDeleted, Organization: org, Actor: by})
	}
	s.drop(org)
	more, err = s.removeDeleted(ctx, org)
	return more, unavailable("remove what a deleted organization has", err)
}

// removeDeleted takes a step of a deletion.
func (s *Service) removeDeleted(ctx context.Context, org string) (more bool, err error) {
	_, more, err = steps.Once(ctx, "RemoveDeleted", removeAtOnce, func(ctx context.Context, limit int) (int, bool, error) {
		return s.store.RemoveDeleted(ctx, org, limit)
	})
	return more, err
}

// drop ends the attempts at runs of an organization that workers of this service have.
// Others see at their next sign of life that there is no such run.
func (s *Service) drop(org string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.running {
		if a.org == org {
			a.cancel(errDrop)
		}
	}
}
