package authmgmt

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Retention is how long what has ended is kept. Zero keeps it for ever. The store must be
// a [Pruner].
type Retention struct {
	Audit       time.Duration // since the event
	Tokens      time.Duration // since the token expired
	Invitations time.Duration // since the invitation was granted, cancelled, or expired
}

// Run does what has to be done in the background, until ctx ends: it grants what accepted
// invitations still wait for, and forgets what Options.Retention does not keep. Any
// number may run beside each other. A failure is logged and tried again at the next turn,
// but for [ErrWrongKey], which Run returns.
func (s *Service) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.opts.RunEvery)
	defer ticker.Stop()
	for {
		_, err := s.turn(ctx, grantsAtOnce)
		if errors.Is(err, ErrWrongKey) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.WarnContext(ctx, "authmgmt: background work failed; trying again", "in", s.opts.RunEvery, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

const (
	grantBatch   = 100 // how many invitations one turn looks at
	grantsAtOnce = 8   // so that a slow one does not hold up the others
)

// RunOnce is one turn of Run, on the caller's goroutine. It returns how many invitations
// it granted.
func (s *Service) RunOnce(ctx context.Context) (granted int, err error) { return s.turn(ctx, 1) }

func (s *Service) turn(ctx context.Context, atOnce int) (granted int, err error) {
	if s.opts.AcceptURL != "" {
		if err := s.needKey(ctx); err != nil {
			return 0, err
		}
	}
	granted, err = s.grantDue(ctx, atOnce)
	return granted, errors.Join(err, s.prune(ctx))
}

func (s *Service) grantDue(ctx context.Context, atOnce int) (granted int, err error) {
	if s.opts.Grant == nil {
		return 0, nil
	}
	due, err := s.store.DueGrants(ctx, s.now(), grantBatch)
	if err != nil {
		return 0, unavailable("look for invitations to grant", err)
	}
	if atOnce == 1 {
		for i := range due {
			n, err := s.grantOne(ctx, &due[i])
			if granted += n; err != nil {
				return granted, err
			}
		}
		return granted, nil
	}
	var succeeded atomic.Int64
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range due {
		group.Go(func() error {
			n, err := s.grantOne(ctx, &due[i])
			succeeded.Add(int64(n))
			return err
		})
	}
	err = group.Wait()
	return int(succeeded.Load()), err
}

// grantOne makes an attempt, unless somebody else does, and returns 1 if it succeeded.
func (s *Service) grantOne(ctx context.Context, i *Invitation) (granted int, err error) {
	if ctx.Err() != nil {
		return 0, nil
	}
	claimed, _, err := s.changeInvitation(ctx, i.Organization, "", Caller{}, i.ID, s.claim)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrGrantPending) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if _, err := s.grant(ctx, &claimed, false); err != nil {
		return 0, nil // it has been reported, and comes again
	}
	return 1, nil
}

func (s *Service) prune(ctx context.Context) error {
	keep, now := s.opts.Retention, s.now()
	if keep == (Retention{}) {
		return nil
	}
	var before PruneBefore
	for _, k := range []struct {
		keep   time.Duration
		before *time.Time
	}{{keep.Audit, &before.Audit}, {keep.Tokens, &before.Tokens}, {keep.Invitations, &before.Invitations}} {
		if k.keep > 0 {
			*k.before = now.Add(-k.keep)
		}
	}
	_, err := s.Prune(ctx, before)
	return err
}

// PruneBefore says what Prune removes: what ended before. Zero times remove nothing.
type PruneBefore struct {
	Audit, Tokens, Invitations time.Time
}

// Pruned counts what Prune removed.
type Pruned struct {
	Audit, Tokens, Invitations int
}

// Prune forgets what ended before the given times, of all organizations. Nothing is ever
// forgotten without it. What it forgets can be imported again. If the store is not a
// [Pruner], the error is errors.ErrUnsupported.
func (s *Service) Prune(ctx context.Context, before PruneBefore) (Pruned, error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return Pruned{}, errors.ErrUnsupported
	}
	var pruned Pruned
	now := s.now()
	for _, kind := range []struct {
		before time.Time
		prune  func(context.Context, time.Time, int) (int, error)
		count  *int
	}{
		{before.Audit, pruner.PruneAudit, &pruned.Audit},
		{before.Tokens, pruner.PruneTokens, &pruned.Tokens},
		{before.Invitations, pruner.PruneInvitations, &pruned.Invitations},
	} {
		if kind.before.IsZero() {
			continue
		}
		if now.Before(kind.before) { // what is still to end has not ended
			kind.before = now
		}
		const batch = 1000
		for {
			n, err := kind.prune(ctx, ceilMicro(kind.before), batch)
			*kind.count += n
			if err != nil {
				return pruned, unavailable("prune", err)
			}
			if n < batch {
				break
			}
		}
	}
	return pruned, nil
}
