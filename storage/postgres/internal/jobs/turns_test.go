package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// find has a look find jobs of an organization.
func (t *kindTurns) find(org string, at time.Time) {
	l, _ := t.begin(func() time.Time { return at }, false)
	t.ended(&l, at, []finding{{org: []byte(org), first: at, last: at}}, false)
}

// TestJobBesideAClaim: a job that a look finds while a claim is under way, which does not see
// it, keeps its organization in line.
func TestJobBesideAClaim(t *testing.T) {
	of := newKindTurns([]string{"k"})
	began := time.Now()
	of.find("acme", began)
	next, _, _ := of.next(10, nil)
	require.Len(t, next, 1)
	of.find("acme", began.Add(time.Second))
	next[0].from = began.Add(time.Minute)
	of.settle(next, []fate{leaves}, false)
	next, _, _ = of.next(10, nil)
	require.Equal(t, began, next[0].from)
	of.settle(next, []fate{leaves}, false)
	next, _, _ = of.next(10, nil)
	require.Empty(t, next)
}

// TestOrganizationComesBackBesideAClaim: a claim that saw no jobs leaves an organization in
// line that has left it meanwhile, and has come back.
func TestOrganizationComesBackBesideAClaim(t *testing.T) {
	of := newKindTurns([]string{"k"})
	began := time.Now()
	of.find("acme", began)
	one, _, _ := of.next(10, nil)
	two, _, _ := of.next(10, nil)
	of.settle(one, []fate{leaves}, false)
	of.find("acme", began.Add(time.Second))
	of.settle(two, []fate{leaves}, false)
	next, _, _ := of.next(10, nil)
	require.Len(t, next, 1)
}

// TestLooksGoBack: a look goes back to the latest job that was found, for ten milliseconds at
// least and a second at most, over ended leases for ten milliseconds, and once a second for
// two seconds more. Every ten seconds it is at all jobs.
func TestLooksGoBack(t *testing.T) {
	of := newKindTurns([]string{"k"})
	now := time.Now()
	var free, held time.Time
	for i := range 25 {
		l, begun := of.begin(func() time.Time { return now }, false)
		require.True(t, begun)
		require.Equal(t, i%20 == 0, l.all, i)
		if i%2 == 0 {
			free, held = free.Add(-2*time.Second), held.Add(-2*time.Second)
		}
		if !l.all {
			require.Equal(t, []time.Time{free, held}, []time.Time{l.free, l.held}, i)
		}
		came := []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 2 * time.Second}[i%4]
		free, held = now.Add(-min(max(came, 10*time.Millisecond), time.Second)), now.Add(-10*time.Millisecond)
		if l.all {
			free = held
		}
		of.ended(&l, now, []finding{{org: []byte("acme"), first: now.Add(-came), last: now.Add(-came)}}, false)
		now = now.Add(500 * time.Millisecond)
	}
}
