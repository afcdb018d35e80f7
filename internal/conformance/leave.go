package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Leave makes a call whose context ends while the call waits, on backends where calls wait
// for each other, and returns its error. What it waits for is hold, a call whose update
// function calls f. Where calls do not wait, it is over before. A backend that is right
// passes, however long it all takes.
//
// So that a mutant fails, however long it all takes, it looks at its context's Err before
// it waits, and not again. If it can leave, it calls [Rest] before that.
func Leave(
	t *testing.T, hold func(f func()) error, call func(ctx context.Context) error,
) (err error) {
	t.Helper()
	inside, release := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(inside) })
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	held := make(chan error, 1)
	go func() {
		defer enter()
		held <- hold(func() {
			enter()
			<-release
		})
	}()
	Await(t, inside, "the update function of the call that the other one waits for")
	forgetRest() // of that call

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	left, looked := make(chan struct{}), make(chan struct{})
	look := sync.OnceFunc(func() { close(looked) })
	go func() {
		defer close(left)
		err = call(watched{ctx, look})
	}()
	// Now it waits, or it is over soon.
	enough := moment
	if impatient() {
		select {
		case <-left:
		case <-looked:
		}
		select {
		case <-rested:
			enough = time.Minute
		default: // it cannot leave before it had its turn
		}
	} else {
		upTo(moment, left)
	}
	leave()
	upTo(enough, left)
	letGo()
	require.NoError(t, Await(t, held, "the call that the other one waits for"))
	Await(t, left, "the call whose context has ended")
	return err
}

// upTo waits until a channel is closed, or a while has passed.
func upTo(while time.Duration, until <-chan struct{}) {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-until:
	case <-timer.C:
	}
}

// watched is a context that tells when somebody has looked whether it has ended.
type watched struct {
	context.Context
	looked func()
}

func (w watched) Err() error {
	defer w.looked()
	return w.Context.Err()
}
