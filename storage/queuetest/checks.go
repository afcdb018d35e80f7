package queuetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// The kinds and organizations of jobs: the first one where one is enough.
const (
	kindA = "docs"
	kindB = "thumbnails"
	orgA  = "org-a"
	orgB  = "org-b"
)

// are returns what of the backend implements an optional interface.
func are[T any](s *subject) (found []T) {
	for _, part := range []any{s.Leases, s.Queue} {
		if is, ok := part.(T); ok {
			found = append(found, is)
		}
	}
	return found
}

// newJob returns a job that nobody knows.
func newJob() mortise.Job { return jobOf(kindA, orgA) }

func jobOf(kind, org string) mortise.Job {
	return mortise.Job{Kind: kind, Organization: org, ID: uuid.NewString()}
}

// traced returns a job that nobody knows, with a trace.
func traced() mortise.Job {
	j := jobOf(kindA, "the \u00c4rzte")
	j.Trace = map[string]string{
		"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "",
	}
	return j
}

// sameJob compares all fields. A trace without entries is none.
func sameJob(t *testing.T, want, got mortise.Job) {
	t.Helper()
	require.True(t, got.At.IsZero(), "the At of a job that is handed out: %v", got.At)
	want.At, got.At = time.Time{}, time.Time{}
	if len(want.Trace) == 0 && len(got.Trace) == 0 {
		want.Trace, got.Trace = nil, nil
	}
	conformance.Same(t, want, got)
}

// names returns which jobs they are. No two jobs have one name.
func names(jobs ...mortise.Job) []string {
	var list []string
	for _, j := range jobs {
		list = append(list, j.String())
	}
	return list
}

// leased returns which jobs the leases are of, in their order.
func leased(leases []mortise.Lease) []string {
	var list []string
	for _, l := range leases {
		list = append(list, l.Job.String())
	}
	return list
}

// organizations returns whose jobs leases are, sorted.
func organizations(claims ...[]mortise.Lease) (orgs []string) {
	for _, leases := range claims {
		for _, l := range leases {
			orgs = append(orgs, l.Job.Organization)
		}
	}
	slices.Sort(orgs)
	return orgs
}

// at sets the clock of the table.
func (s *subject) at(now time.Duration) {
	s.SetNow(func() time.Time { return conformance.Moment(now) })
}

// add adds a job, claimable from the moment on. It returns it without its At, as a claim
// does.
func (s *subject) add(t *testing.T, j mortise.Job, at time.Duration) mortise.Job {
	t.Helper()
	timed := j
	timed.At = conformance.Moment(at)
	require.NoError(t, s.Leases.Add(t.Context(), timed))
	return j
}

// cancel cancels a job of the table.
func (s *subject) cancel(t *testing.T, j mortise.Job) {
	t.Helper()
	require.NoError(t, s.Leases.Cancel(t.Context(), j))
}

// claimAs claims under a new token, jobs of the usual kind if c names none.
func (s *subject) claimAs(t *testing.T, now time.Duration, c mortise.Claim) []mortise.Lease {
	t.Helper()
	s.at(now)
	c.Token = uuid.New()
	if c.Kinds == nil {
		c.Kinds = []string{kindA}
	}
	leases, err := s.Leases.Claim(t.Context(), c)
	require.NoError(t, err)
	require.LessOrEqual(t, len(leases), c.Limit, "leases of one claim")
	for _, l := range leases {
		require.Equal(t, c.Token, l.Token)
	}
	return leases
}

// claim claims jobs of the usual kind.
func (s *subject) claim(t *testing.T, now, until time.Duration, limit int) []mortise.Lease {
	t.Helper()
	return s.claimAs(t, now, mortise.Claim{Limit: limit, TTL: until - now})
}

// take claims the job, which must be the only one that is claimable.
func (s *subject) take(t *testing.T, j mortise.Job, now, until time.Duration) mortise.Lease {
	t.Helper()
	leases := s.claim(t, now, until, 10)
	require.Equal(t, names(j), leased(leases), "claimable jobs")
	return leases[0]
}

// addAndTake adds a job and claims it. No other one is claimable.
func (s *subject) addAndTake(t *testing.T, now, until time.Duration) (mortise.Job, mortise.Lease) {
	t.Helper()
	j := s.add(t, newJob(), now)
	return j, s.take(t, j, now, until)
}

// none requires that no job is claimable.
func (s *subject) none(t *testing.T, now time.Duration) {
	t.Helper()
	require.Empty(t, leased(s.claim(t, now, now+time.Hour, 10)), "claimable jobs")
}

func (s *subject) extend(t *testing.T, l mortise.Lease, now, until time.Duration) {
	t.Helper()
	s.at(now)
	require.NoError(t, s.Leases.Extend(t.Context(), l, until-now), "Extend")
}

func (s *subject) release(t *testing.T, l mortise.Lease, now, at time.Duration) {
	t.Helper()
	s.at(now)
	require.NoError(t, s.Leases.Release(t.Context(), l, at-now), "Release")
}

func (s *subject) remove(t *testing.T, l mortise.Lease, dead bool) {
	t.Helper()
	require.NoError(t, s.Leases.Remove(t.Context(), l, dead), "Remove")
}

// powerless requires that a lease holds nothing: no call with it changes anything.
func (s *subject) powerless(t *testing.T, l mortise.Lease) {
	t.Helper()
	ctx := t.Context()
	require.ErrorIs(t, s.Leases.Extend(ctx, l, 1000*time.Hour), mortise.ErrLeaseLost, "Extend")
	require.ErrorIs(t, s.Leases.Release(ctx, l, 0), mortise.ErrLeaseLost, "Release")
	require.ErrorIs(t, s.Leases.Remove(ctx, l, true), mortise.ErrLeaseLost, "Remove as dead")
	require.ErrorIs(t, s.Leases.Remove(ctx, l, false), mortise.ErrLeaseLost, "Remove")
}

// isFailure requires an error that says only that the call failed.
func isFailure(t *testing.T, call string, err error) {
	t.Helper()
	require.Error(t, err, call)
	require.NotErrorIs(t, err, mortise.ErrLeaseLost, call)
}
