// Package queuetest holds the rules of job queues, for the suites of the domains that have one. A suite fits its domain's Leases and Queue
// to the interfaces of this package, says in a [Domain] what its jobs are, and takes [Rules] among its own. Its tests take [Mistakes] among
// their mutants.
//
// So a rule of every queue is added here, once, with a mistake that breaks it. What only one domain promises stays in its suite, which may
// use the methods of [Subject] for it.
package queuetest

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Job is a domain's type of job.
type Job interface {
	comparable
	ID() string
}

// A domain's own types of these names convert to them.
type (
	Lease[J Job] struct {
		Job        J
		Token      uuid.UUID
		Deliveries int
	}
	Delivery[J Job] struct {
		Job        J
		Deliveries int
	}
	LeaseOptions struct {
		TTL       time.Duration
		Heartbeat time.Duration
		Poll      time.Duration
		Now       func() time.Time
		Logger    *slog.Logger
	}
)

// Verdict is a consumer's answer to a Delivery: not Done gives the job back, due After from now. One that is Dead is Done too.
type Verdict struct {
	Done, Dead bool
	After      time.Duration
}

// Handler is what consumers call.
type Handler[J Job] = func(context.Context, Delivery[J]) Verdict

// Leases is a domain's table of jobs, which its own doc comments describe.
type Leases[J Job] interface {
	Add(ctx context.Context, j J, at time.Time) error
	Claim(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error)
	Extend(ctx context.Context, l Lease[J], until time.Time) error
	Release(ctx context.Context, l Lease[J], at time.Time) error
	Remove(ctx context.Context, l Lease[J], dead bool) error // a domain without dead letters passes over dead

	NotifyJobs(wake func()) (stop func()) // called only if the domain's Leases are a JobNotifier
	WithoutNotifier() Leases[J]           // the same table, which is no JobNotifier
	LeaseQueue(o *LeaseOptions) Queue[J]  // the domain's queue over the table
}

// Queue is a domain's queue.
type Queue[J Job] interface {
	Enqueue(ctx context.Context, j J) error
	Consume(ctx context.Context, workers int, handle Handler[J]) error
	ConsumeOne(ctx context.Context, handle Handler[J]) (bool, error) // called only if the domain's Queue is a StepQueue
}

// Domain is what the rules have to know of a domain.
type Domain[J Job] struct {
	Organization func(j J) string                           // returns whose job it is
	NewJob       func(org string) J                         // returns a job that nobody knows
	Sibling      func(j J) J                                // returns another job, as like the given one as two can be
	IsFailure    func(t *testing.T, call string, err error) // requires an error that is none of the domain's sentinels
	LeaseLost    error                                      // the sentinel for a lease that is no longer held
	DeadLetters  bool                                       // Remove and verdicts can keep a job as a dead letter

	AddName string              // of the method of Leases that adds a job
	Own     map[string]Sentence // what the domain says in its own words, by the ID of the rule in this package
}

// Sentence is a sentence of the contracts of Leases and Queue, or of the optional interfaces that belong to them.
type Sentence struct{ ID, Text string }

// Rule is a sentence with the check that proves it.
type Rule[J Job] struct {
	Sentence
	Needs Need
	Check func(t *testing.T, s *Subject[J])
}

// Need is what a rule cannot do without.
type Need uint

// What the rules of this package need. A suite's own needs begin at FreeNeed.
const (
	NeedLeases Need = 1 << iota
	NeedJobNotifier
	NeedQueue
	NeedStepQueue
	NeedReopen
	NeedBreak
	FreeNeed
)

// Rules returns the rules, as the domain says them.
func Rules[J Job](d *Domain[J]) []Rule[J] {
	rules := slices.Concat(leaseRules[J](d.AddName), holderRules[J](d.AddName), jobNotifierRules[J](d.AddName),
		queueRules[J](), consumeRules[J](), stepQueueRules[J](), outageRules[J](), durableRules[J]())
	if d.DeadLetters {
		rules = append(rules, deadLetterRules[J](d.AddName)...)
	}
	for i := range rules {
		if own, ok := d.Own[rules[i].ID]; ok {
			rules[i].Sentence = own
		}
	}
	return rules
}
