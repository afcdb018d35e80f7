package queuetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// Subject is the job queue that a rule is tried on. Its methods take times as distances from [conformance.Moment] 0.
type Subject[J Job] struct {
	*Domain[J]
	Leases    Leases[J]
	Queue     Queue[J]
	MoreCalls []Call // of what the domain's table can besides; they fail when it fails

	Reopen func(t *testing.T) *Subject[J] // closes the backend and opens its data again
	Break  func(t *testing.T) (heal func())
}

// Call is one method of a backend, called so that it would succeed if nothing were wrong.
type Call struct {
	Name string
	Do   func(ctx context.Context) error
}

// The organizations of jobs: orgA where one is enough.
const (
	orgA = "org-a"
	orgB = "org-b"
)

// organizations returns whose jobs leases are, sorted.
func (s *Subject[J]) organizations(claims ...[]Lease[J]) (orgs []string) {
	for _, leases := range claims {
		for _, l := range leases {
			orgs = append(orgs, s.Organization(l.Job))
		}
	}
	slices.Sort(orgs)
	return orgs
}

// newJob returns a job that nobody knows.
func (s *Subject[J]) newJob() J { return s.NewJob(orgA) }

// Add adds a job, claimable from the moment on.
func (s *Subject[J]) Add(t *testing.T, j J, at time.Duration) J {
	t.Helper()
	require.NoError(t, s.Leases.Add(t.Context(), j, conformance.Moment(at)))
	return j
}

// Claim claims under a new token.
func (s *Subject[J]) Claim(t *testing.T, now, until time.Duration, limit int) []Lease[J] {
	t.Helper()
	token := uuid.New()
	leases, err := s.Leases.Claim(t.Context(), token, conformance.Moment(now), conformance.Moment(until), limit)
	require.NoError(t, err)
	require.LessOrEqual(t, len(leases), limit, "leases of one claim")
	for _, l := range leases {
		require.Equal(t, token, l.Token)
	}
	return leases
}

// ClaimOne claims the only job that is claimable.
func (s *Subject[J]) ClaimOne(t *testing.T, now, until time.Duration) Lease[J] {
	t.Helper()
	leases := s.Claim(t, now, until, 10)
	require.Len(t, leases, 1, "claimable jobs")
	return leases[0]
}

// ClaimNone requires that no job is claimable.
func (s *Subject[J]) ClaimNone(t *testing.T, now time.Duration) {
	t.Helper()
	require.Empty(t, s.Claim(t, now, now+time.Hour, 10), "claimable jobs")
}
