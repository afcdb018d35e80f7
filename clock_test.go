package mortise_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// One clock moves the time of two fakes: an event is retried, and a token runs out.
func ExampleManualClock() {
	t := new(testing.T) // a test has its own

	clock := new(mortise.ManualClock)
	logins := authmgmttest.New(t, &authmgmttest.Options{Clock: clock})
	events := triggertest.New(t, &triggertest.Options{
		Clock: clock,
		Processor: func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
			if e.Attempts == 1 {
				return trigger.Outcome{}, trigger.RetryAfter(errors.New("the wiki is locked"), 24*time.Hour)
			}
			return trigger.Outcome{}, nil
		},
	})
	ctx := context.Background()
	ann := authmgmt.Caller{Actor: "ann", Access: access.Full()}
	_, secret, err := logins.CreateClient(ctx, "acme", ann, authmgmt.NewClient{ID: "build", Name: "Nightly build", FullAccess: true})
	if err != nil {
		panic(err)
	}
	_, token, err := logins.Login(ctx, "build", secret.Reveal())
	if err != nil {
		panic(err)
	}
	if _, err := events.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the release."}); err != nil {
		panic(err)
	}
	for range 2 {
		events.Drain(ctx)
		_, err := logins.VerifyToken(ctx, token.Reveal())
		fmt.Println(events.History()[0].Status, errors.Is(err, authmgmt.ErrInvalidCredentials))
		clock.Advance(24 * time.Hour)
	}
	fmt.Println(clock.Now())
	// Output:
	// received false
	// completed true
	// 2026-01-03 00:00:00 +0000 UTC
}

func TestManualClock(t *testing.T) {
	var c mortise.ManualClock
	start := c.Now()
	assert.Equal(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), start)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { c.Advance(time.Second) })
	}
	wg.Wait()
	assert.Equal(t, 10*time.Second, c.Now().Sub(start))
	c.Advance(-time.Minute)
	assert.Equal(t, -50*time.Second, c.Now().Sub(start))
}
