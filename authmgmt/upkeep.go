package authmgmt

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/internal/setting"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// Retention is how long what has ended is kept. Zero keeps it for ever, and below 0 is an
// error. The store must be a [Pruner].
type Retention struct {
	Audit       time.Duration // since the event
	Tokens      time.Duration // since the token expired
	Invitations time.Duration // since the invitation was granted, cancelled, or expired
}

func (r *Retention) validate(of string) error {
	return setting.Check(of, setting.Of("Audit", r.Audit), setting.Of("Tokens", r.Tokens), setting.Of("Invitations", r.Invitations))
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
			s.opts.Logger.WarnContext(ctx, "authmgmt: background work failed; trying again", "in", s.opts.RunEvery.String(), "error", err)
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

// grantOne makes an attempt, unless somebody else does, and returns 1 if it succeeded. After
// a panic of Grant, the next attempt is made when the claim of this one ends.
func (s *Service) grantOne(ctx context.Context, i *Invitation) (granted int, err error) {
	defer hook.Recover(ctx, s.opts.Logger, "Grant", nil, "organization", i.Organization, "invitation", i.ID)
	if ctx.Err() != nil {
		return 0, nil
	}
	claimed, _, err := s.changeInvitation(ctx, i.Organization, "", Caller{}, i.ID, s.claim)
	if errors.Is(err, mortise.ErrNotFound) || errors.Is(err, ErrGrantPending) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if _, _, err := s.grant(ctx, &claimed, false); err != nil {
		return 0, nil // it has been reported, and comes again
	}
	return 1, nil
}

// prune forgets what Options.Retention does not keep.
func (s *Service) prune(ctx context.Context) error {
	if s.opts.Retention == (Retention{}) {
		return nil
	}
	_, err := s.Prune(ctx, s.opts.Retention)
	return err
}

// Prune forgets what ended longer ago than keep says, of all organizations, and returns
// how much that is. Run does it by Options.Retention. Without Prune and Run only the oldest
// tokens of a client go, over [MaxClientTokens]. Forgotten objects can be imported again.
// If the store is not a [Pruner], the error is errors.ErrUnsupported.
func (s *Service) Prune(ctx context.Context, keep Retention) (removed int, err error) {
	pruner, ok := s.store.(Pruner)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	if err := keep.validate("authmgmt: Retention"); err != nil {
		return 0, err
	}
	now := s.now()
	for _, kind := range []struct {
		keep  time.Duration
		name  string
		prune func(ctx context.Context, before time.Time, limit int) (int, bool, error)
	}{
		{keep.Audit, "PruneAudit", pruner.PruneAudit}, {keep.Tokens, "PruneTokens", pruner.PruneTokens},
		{keep.Invitations, "PruneInvitations", pruner.PruneInvitations},
	} {
		if kind.keep == 0 {
			continue
		}
		const limit = 1000
		before := pages.Ceil(now.Add(-kind.keep))
		n, err := steps.Run(ctx, kind.name, limit, func(ctx context.Context, limit int) (int, bool, error) {
			return kind.prune(ctx, before, limit)
		})
		if removed += n; err != nil {
			return removed, unavailable("prune", err)
		}
	}
	return removed, nil
}
