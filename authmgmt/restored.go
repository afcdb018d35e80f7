package authmgmt

import (
	"context"
	"errors"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/steps"
)

// Revocations returns how much was taken away in the database, by this package and by the others
// that use it.
//
// Keep the largest N that you have seen in a file beside the keys, with its Database, written
// before the answer to the caller that took something away: an Observer hears of each such change
// ([mortise.Kind.TakesAway]). Compare at the start. A smaller N of the same Database means that a
// backup was put back: call [Service.EndAccess] before the first request is answered. The error is
// errors.ErrUnsupported if the Store is no [mortise.RevocationCounter], else
// [mortise.ErrUnavailable].
func (s *Service) Revocations(ctx context.Context) (mortise.Revocations, error) {
	store, ok := s.store.(mortise.RevocationCounter)
	if !ok {
		return mortise.Revocations{}, errors.ErrUnsupported
	}
	now, err := store.Revocations(ctx)
	return now, unavailable("read the number of revocations", err)
}

// EndAccess removes the access tokens of all organizations, sessions included, and goes on from
// the N seen, for a database that was restored from a backup ([Service.Revocations]). It returns
// how many tokens there were. Revoked ones stay, so that they cannot be imported again. Clients and
// secrets, API keys, roles, invitations and organizations that were ended after the backup are
// there again, and have to be ended once more. A call that was cut off is made again. Errors are as
// of Revocations.
func (s *Service) EndAccess(ctx context.Context, seen int64) (tokens int, err error) {
	store, ok := s.store.(Restorable)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	const limit = 1000
	tokens, err = steps.Run(ctx, "RemoveTokens", limit, store.RemoveTokens)
	s.tokensChanged(ctx, err)
	if err == nil {
		err = store.RaiseRevocations(ctx, seen)
	}
	return tokens, unavailable("end access", err)
}
