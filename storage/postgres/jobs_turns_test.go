package postgres

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestJobBesideAClaim: a job that a look finds while a claim is under way, which does not see
// it, keeps its organization in line.
func TestJobBesideAClaim(t *testing.T) {
	all := jobTurns{of: make(map[string]*turns)}
	of := all.turns([]string{"k"})
	began := time.Now()
	find := func(at time.Time) {
		l := of.begin(at)
		of.ended(&l, at, []finding{{org: []byte("acme"), first: at, last: at}}, false)
	}
	find(began)
	next, _ := of.next(10, nil)
	require.Len(t, next, 1)
	find(began.Add(time.Second))
	next[0].from = began.Add(time.Minute)
	of.served(next, []bool{true}, 0, false)
	next, _ = of.next(10, nil)
	require.Equal(t, began, next[0].from)
	of.served(next, []bool{true}, 0, false)
	next, _ = of.next(10, nil)
	require.Empty(t, next)
}

// TestLineIsBounded: an organization that finds no place in line is found when the line is
// empty.
func TestLineIsBounded(t *testing.T) {
	now := time.Now()
	found := make([]finding, maxTurns)
	for i := range found {
		found[i] = finding{org: []byte{byte(i >> 8), byte(i)}, first: now, last: now}
	}
	for _, full := range []bool{false, true} { // whether the look at all jobs left out the organization
		all := jobTurns{of: make(map[string]*turns)}
		of := all.turns([]string{"k"})
		l := of.begin(now)
		require.True(t, l.all)
		of.ended(&l, now, found, full)
		l = of.begin(now)
		require.False(t, l.all)
		if !full {
			of.ended(&l, now, []finding{{org: []byte("new"), first: now, last: now}}, false)
		}
		next, _ := of.next(maxTurns+1, nil)
		require.Len(t, next, maxTurns)
		of.served(next, slices.Repeat([]bool{true}, maxTurns), maxTurns-1, false)
		l = of.begin(now)
		require.True(t, l.all)
		if full {
			require.Equal(t, found[maxTurns-1].org, l.after)
		} else {
			require.Empty(t, l.after)
		}
		of.ended(&l, now, nil, false)
		require.False(t, of.begin(now).all)
	}
}
