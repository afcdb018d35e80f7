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
// ([mortise.Kind.TakesAway]). Give it to the services of all packages. It is called by many
// goroutines, perhaps with a context that has ended: write under a mutex, never a smaller N, and
// with a context of its own. Compare at the start. A smaller N of the same Database means that a
// backup was put back: call [Service.EndAccess] before the first request is answered, once the
// operator has agreed. Without a file, write N. The error is errors.ErrUnsupported if the Store
// does not implement [mortise.RevocationCounter], else [mortise.ErrUnavailable].
func (s *Service) Revocations(ctx context.Context) (mortise.Revocations, error) {
	store, ok := s.store.(mortise.RevocationCounter)
	if !ok {
		return mortise.Revocations{}, errors.ErrUnsupported
	}
	now, err := store.Revocations(ctx)
	return now, unavailable("read the number of revocations", err)
}

// EndAccess removes the access tokens of all organizations, sessions included, and goes on from a
// larger N than the one seen and the one in the database, for a database that was restored from a
// backup ([Service.Revocations]). It returns how many tokens there were. Revoked ones stay, so that
// they cannot be imported again. A TokenCache of another process may know a token for its time.
//
// Clients and secrets, API keys, roles, invitations and organizations that were ended after the
// backup are there again, and have to be ended once more. A call that was cut off is made again.
// Errors are as of Revocations.
func (s *Service) EndAccess(ctx context.Context, seen int64) (tokens int, err error) {
	store, ok := s.store.(Restorable)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	const limit = 1000
	tokens, err = steps.Run(ctx, "RemoveTokens", limit, store.RemoveTokens)
	s.tokensChanged(ctx, err)
	if err == nil { // not before, so that a call that was cut off is made again
		var now mortise.Revocations
		if now, err = store.Revocations(ctx); err == nil {
			err = store.RaiseRevocations(ctx, max(now.N, seen)+1)
		}
	}
	return tokens, unavailable("end access", err)
}
