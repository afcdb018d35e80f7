// Package steps takes the bounded steps of stores, as the services of all domains do. Section
// "Bounded steps" of package storage has their contract.
package steps

import (
	"context"
	"fmt"

	"github.com/seed-6363c74e/mortise"
)

// Step does at most limit units of some work. It returns how many it has done, and whether
// more may be left.
type Step = func(ctx context.Context, limit int) (n int, more bool, err error)

// Once takes one step, whose name is for the error: a step that says more without having
// done anything is [mortise.ErrUnavailable], because a loop by more would never end.
func Once(ctx context.Context, name string, limit int, step Step) (n int, more bool, err error) {
	n, more, err = step(ctx, limit)
	if err != nil {
		return n, false, err
	}
	if more && n <= 0 {
		return n, false, fmt.Errorf("%w: %s has done nothing, and says that more is left", mortise.ErrUnavailable, name)
	}
	return n, more, nil
}

// Run takes steps until one says that no more is left, and returns how many units they have
// done. It ends before that with an error, of a step or of a context that has ended.
func Run(ctx context.Context, name string, limit int, step Step) (total int, err error) {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		var n int
		n, more, err = Once(ctx, name, limit, step)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}
