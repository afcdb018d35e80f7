// Package steptest proves the bounded steps of stores: two rules for each step of a domain,
// which are the same for all of them. A suite describes the work of a step in a [Step].
// [Mutants] break the rules.
package steptest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// Do is a bounded step, with all arguments but these.
type Do = func(ctx context.Context, limit int) (n int, more bool, err error)

// Step is a bounded step of a backend. S is the subject of the suite.
type Step[S any] struct {
	ID     string // of the rule, behind "steps/"
	Method string // its name
	Units  string // what the step does, in the plural: "expired tokens"
	Needs  conformance.Need

	// Fill stores so many units that the step has to do, and beside them other things that
	// it has to leave.
	Fill func(t *testing.T, s S, units int) Work
}

// Work is the work of a step.
type Work struct {
	Do Do

	// Left counts the units that are left. It is nil if nothing shows them.
	Left func(t *testing.T) int

	// Exact means that the step counts these units and nothing else. Otherwise it may count
	// other things, too, that it does with them.
	Exact bool

	// Kept requires that everything else is as it was. It may be nil.
	Kept func(t *testing.T)
}

// Rule is a rule of a suite.
type Rule[S any] struct {
	ID, Text string
	Needs    conformance.Need
	Check    func(t *testing.T, s S)
}

// Rules returns the rules of steps: two of each.
func Rules[S any](all []Step[S]) (rules []Rule[S]) {
	for _, step := range all {
		text := fmt.Sprintf("%s is a bounded step (%s): a call does at most limit units and returns how many, one at least if "+
			"it says that more may be left. Calls until it says no more do all of it, and nothing else. "+
			"One with a limit of 0 does nothing.", step.Method, step.Units)
		atOnce := fmt.Sprintf("Several callers of %s (%s) at once do each unit once; none fails, or says that more may be left after "+
			"it has done nothing.", step.Method, step.Units)
		rules = append(rules,
			Rule[S]{"steps/" + step.ID, text, step.Needs, step.check},
			Rule[S]{"steps/" + step.ID + AtOnce, atOnce, step.Needs, step.checkAtOnce})
	}
	return rules
}

// AtOnce ends the ID of the rule about several callers of a step.
const AtOnce = "-at-once"

func (r Step[S]) check(t *testing.T, s S) {
	const units, most = 7, 1000
	w := r.Fill(t, s, units)
	left := func() int { return 0 }
	if w.Left != nil {
		left = func() int { return w.Left(t) }
		require.Equal(t, units, left(), "%s before the first step", r.Units)
	}
	kept := func() {
		if w.Kept != nil {
			w.Kept(t)
		}
	}
	before, total := left(), 0
	step := func(limit int) (n int, more bool) {
		n, more, err := w.Do(t.Context(), limit)
		require.NoError(t, err, r.Method)
		require.GreaterOrEqual(t, n, 0, "what %s has done", r.Method)
		require.LessOrEqual(t, n, limit, "what %s has done", r.Method)
		now := left()
		require.LessOrEqual(t, before-now, n, "%s done by a call that returned %d", r.Units, n)
		if w.Exact {
			require.Equal(t, before-now, n, "%s done by a call", r.Units)
		}
		before, total = now, total+n
		kept()
		return n, more
	}
	step(0)
	for calls, more := 0, true; more; calls++ {
		require.Less(t, calls, most, "%s always says that there is more", r.Method)
		var n int
		if n, more = step(1 + calls%3); more {
			require.Positive(t, n, "what %s has done, and says that there is more", r.Method)
		}
	}
	require.Zero(t, left(), "%s that are left at the end", r.Units)
	require.GreaterOrEqual(t, total, units, "%s that were done in all steps", r.Units)
	n, more := step(100)
	require.Zero(t, n, "what %s has done after its end", r.Method)
	require.False(t, more, "%s after its end", r.Method)
}

func (r Step[S]) checkAtOnce(t *testing.T, s S) {
	const units, callers, most = 20, 4, 1000
	w := r.Fill(t, s, units)
	var done [callers]int
	var errs [callers]error
	conformance.Together(callers, func(i int) {
		more := true
		for calls := 0; more && errs[i] == nil; calls++ {
			var n int
			n, more, errs[i] = w.Do(t.Context(), 3)
			done[i] += n
			switch {
			case errs[i] != nil:
			case more && n == 0:
				errs[i] = fmt.Errorf("%s has done nothing, and says that there is more", r.Method)
			case calls == most:
				errs[i] = fmt.Errorf("%s always says that there is more", r.Method)
			}
		}
	})
	conformance.NoErrors(t, errs[:])
	total := All(t, 3, w.Do) // what one of them has left to another
	for _, n := range done {
		total += n
	}
	if w.Exact {
		require.Equal(t, units, total, "%s that were done by all callers", r.Units)
	}
	require.GreaterOrEqual(t, total, units, "%s that were done by all callers", r.Units)
	if w.Left != nil {
		require.Zero(t, w.Left(t), "%s that are left at the end", r.Units)
	}
	if w.Kept != nil {
		w.Kept(t)
	}
}

// All takes steps until one says that no more is left, and returns how many units they have
// done.
func All(t *testing.T, limit int, do Do) (total int) {
	t.Helper()
	for calls, more := 0, true; more; calls++ {
		require.Less(t, calls, 100_000, "a step always says that there is more")
		n, again, err := do(t.Context(), limit)
		require.NoError(t, err)
		require.LessOrEqual(t, n, limit, "units of a step")
		require.True(t, n > 0 || !again, "a step has done nothing, and says that there is more")
		total, more = total+n, again
	}
	return total
}
