package trigger

import (
	"context"
	"errors"
	"reflect"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// removeStep is how many rows each part removes at most at a call of DeleteOrganization.
const removeStep = 1000

// DeleteOrganization deletes everything that is kept of an organization. The first call
// marks it as deleted; every call then removes a bounded part of what there is, and
// reports whether there is more: call it until more is false. It may be cut off at any
// place and called again by anybody, on any server.
//
// From the mark on the organization's API keys are refused, its history is gone, and
// submissions are [mortise.ErrDeleted], for good: the ID is not given again. An attempt
// that is running goes on to its end, unless its job is removed before, which ends its
// context; what comes of it is not kept. A queue that is not in the store's database
// keeps its jobs until a [Worker] gets them, which drops each at its first delivery.
//
// The mark is made in each part of the [Backend] that keeps something: the Store, the
// Keys, and a Directory that is also a [Deletion]. This deletes what package trigger
// keeps of the organization; each of the other domains deletes its own. Errors are
// [*mortise.ValidationError] and [mortise.ErrUnavailable].
func (s *Service) DeleteOrganization(ctx context.Context, org string, by mortise.Actor) (more bool, err error) {
	var p failure.Problems
	if p.Name("organization", org); len(p.Found) > 0 {
		return false, p.Err()
	}
	parts := s.deletions()
	more, err = removeDeleted(ctx, parts, org)
	if errors.Is(err, mortise.ErrNotFound) {
		if err := s.markDeleted(ctx, parts, org, by); err != nil {
			return false, failure.Unavailable("mark an organization as deleted", err)
		}
		more, err = removeDeleted(ctx, parts, org)
	}
	return more, failure.Unavailable("remove what is kept of a deleted organization", err)
}

// markDeleted marks the organization in all parts. Who marks it in the first one tells of
// it, also if the other marks fail: somebody else makes them then, and tells nobody.
func (s *Service) markDeleted(ctx context.Context, parts []Deletion, org string, by mortise.Actor) error {
	now := s.now()
	for i, part := range parts {
		since, err := part.MarkDeleted(ctx, org, now)
		if err != nil {
			return err
		}
		if i == 0 && since.Equal(now) {
			defer func() {
				s.opts.Logger.InfoContext(ctx, "trigger: an organization was deleted", "organization", org, "actor", string(by))
				s.observe(ctx, mortise.Observation{Kind: mortise.KindOrganizationDeleted, Organization: org, Actor: by})
			}()
		}
	}
	return nil
}

// removeDeleted takes a step in each part. If one is not marked, the error is
// ErrNotFound.
func removeDeleted(ctx context.Context, parts []Deletion, org string) (more bool, err error) {
	for _, part := range parts {
		_, left, err := steps.Once(ctx, "RemoveDeleted", removeStep, func(ctx context.Context, limit int) (int, bool, error) {
			return part.RemoveDeleted(ctx, org, limit)
		})
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, nil
}

// deletions returns what keeps anything of organizations, each once: credentials first,
// so that nobody comes in any more when the rest goes.
func (s *Service) deletions() (parts []Deletion) {
	if s.keys != nil && !same(s.keys, s.store) {
		parts = append(parts, s.keys)
	}
	parts = append(parts, s.store)
	if d, ok := s.directory.(Deletion); ok && !same(d, s.store) && !same(d, s.keys) {
		parts = append(parts, d)
	}
	return parts
}

// same reports whether two parts are one value. A host's type may be one that cannot be
// compared.
func same(a, b any) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// isDeleted asks the store whether an organization is marked.
func (s *Service) isDeleted(ctx context.Context, org string) (bool, error) {
	_, _, err := s.store.RemoveDeleted(ctx, org, 0)
	if errors.Is(err, mortise.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
