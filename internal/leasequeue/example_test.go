package leasequeue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/leasequeue"
)

// one is a table with room for one job, for one consumer.
type one struct {
	job string
	at  time.Time
}

func (o *one) Claim(_ context.Context, _ uuid.UUID, now, until time.Time, _ int, _ ...string) ([]string, error) {
	if o.job == "" || o.at.After(now) {
		return nil, nil
	}
	o.at = until
	return []string{o.job}, nil
}

func (o *one) Extend(_ context.Context, _ string, until time.Time) error {
	o.at = until
	return nil
}

func (o *one) Release(_ context.Context, _ string, at time.Time) error {
	o.at = at
	return nil
}

func (o *one) Remove(context.Context, string, bool) error {
	o.job = ""
	return nil
}

func Example() {
	engine := leasequeue.New(&one{job: "write the docs"}, leasequeue.Options{})
	for range 2 {
		found, err := engine.ConsumeOne(context.Background(), func(_ context.Context, job string) leasequeue.Verdict {
			fmt.Println(job)
			return leasequeue.Verdict{Done: true}
		})
		fmt.Println(found, err)
	}
	// Output:
	// write the docs
	// true <nil>
	// false <nil>
}
