package conformance

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxLooks bounds how many looks at a context [EveryLook] counts.
const maxLooks = 40

// AnyLook is the text of the rules that call EveryLook.
const AnyLook = "A caller may leave at any moment: a call whose context ends at any look of the backend works, or returns an error other than the sentinels."

// EveryLook makes calls, one after the other, with contexts that end when a backend looks at
// them for the first time, the second time, and so on: before the call begins, while it
// waits, and after it has committed. Each call must work, or fail as isFailure says, and is
// made again then. calls makes them anew for each round; together they must be possible
// again and again.
func EveryLook(t *testing.T, calls func() []Call, isFailure func(t *testing.T, call string, err error)) {
	t.Helper()
	for look := range maxLooks {
		ended := false
		for _, c := range calls() {
			ctx := &ending{Context: t.Context(), at: look, done: make(chan struct{})}
			err := c.Do(ctx)
			ended = ended || ctx.ended()
			if err == nil {
				continue
			}
			require.True(t, ctx.ended(), "%s failed, though its context had not ended: %v", c.Name, err)
			isFailure(t, c.Name, err)
			_ = c.Do(t.Context()) // its effect may be there already
		}
		if !ended {
			return
		}
	}
}

// ending is a context that ends at a look.
type ending struct {
	context.Context
	at   int
	done chan struct{}

	mu    sync.Mutex
	looks int
}

// look counts a look.
func (e *ending) look() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.looks == e.at {
		close(e.done)
	}
	e.looks++
}

func (e *ending) ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

func (e *ending) Done() <-chan struct{} {
	e.look()
	return e.done
}

func (e *ending) Err() error {
	if e.look(); e.ended() {
		return context.Canceled
	}
	return nil
}
