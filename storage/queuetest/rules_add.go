package queuetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// addRules are the rules of Add.
var addRules = []rule{
	{Rule{"leases/returns-the-job", "Claim returns what was added, its trace included, with " +
		"the claim's token and a zero At."},
		needTable, func(t *testing.T, s *subject) {
			want := s.add(t, traced(), 0)
			l := s.take(t, want, 0, time.Minute)
			sameJob(t, want, l.Job)
			require.Equal(t, 1, l.Deliveries)
			plain := s.add(t, newJob(), 0)
			sameJob(t, plain, s.take(t, plain, 0, time.Minute).Job)
		}},

	{Rule{"leases/own-copies", "Jobs are the receiver's own: a trace that a caller changes " +
		"after Add or Claim changes nothing in the table."},
		needTable, func(t *testing.T, s *subject) {
			j := traced()
			want := traced()
			want.ID = j.ID
			s.add(t, j, 0)
			for i := range time.Duration(3) {
				clear(j.Trace)
				j.Trace["spoiled"] = "yes"
				j = s.take(t, want, i*time.Hour, (i+1)*time.Hour).Job
				sameJob(t, want, j)
			}
		}},

	{Rule{"leases/add-time", "A job is claimable from its At on, in whatever time zone, not " +
		"before."},
		needTable, func(t *testing.T, s *subject) {
			s.at(-time.Hour)
			j := s.add(t, newJob(), 0)
			s.none(t, -time.Microsecond)
			s.take(t, j, 0, time.Minute)
			away := newJob()
			away.At = conformance.Moment(time.Hour).In(time.FixedZone("", -5*3600))
			require.NoError(t, s.Leases.Add(t.Context(), away))
			s.take(t, j, time.Hour-time.Microsecond, 2*time.Hour)
			away.At = time.Time{}
			s.take(t, away, time.Hour, 2*time.Hour)
		}},

	{Rule{"leases/add-now", "A job with a zero At is claimable from now on, by the clock of " +
		"the table."},
		needTable, func(t *testing.T, s *subject) {
			before := s.add(t, newJob(), -time.Microsecond)
			after := s.add(t, newJob(), time.Microsecond)
			j := newJob()
			require.NoError(t, s.Leases.Add(t.Context(), j))
			s.take(t, before, -time.Microsecond, time.Hour)
			s.take(t, j, 0, time.Hour)
			s.take(t, after, time.Microsecond, time.Hour)
		}},

	{Rule{"leases/add-twice", "A job that is there is left as it is by Add, its At included: " +
		"no error."},
		needTable, func(t *testing.T, s *subject) {
			j := s.add(t, newJob(), time.Minute)
			s.add(t, j, 0)
			s.add(t, j, time.Hour)
			require.NoError(t, s.Leases.Add(t.Context(), j))
			s.none(t, time.Minute-time.Microsecond)
			s.take(t, j, time.Minute, time.Hour)
		}},

	{Rule{"leases/add-keeps-the-rest", "A job that is added again keeps its trace, its " +
		"deliveries, and its place among equals."},
		needTable, func(t *testing.T, s *subject) {
			j := newJob()
			j.Trace = map[string]string{"added": "first"}
			s.add(t, j, 0)
			s.release(t, s.take(t, j, 0, time.Hour), 0, time.Minute)
			s.add(t, newJob(), time.Minute)
			again := j
			again.Trace = map[string]string{"added": "again"}
			s.add(t, again, time.Minute)
			leases := s.claim(t, time.Minute, time.Hour, 1)
			require.Equal(t, names(j), leased(leases))
			sameJob(t, j, leases[0].Job)
			require.Equal(t, 2, leases[0].Deliveries)
		}},

	{Rule{"leases/add-while-leased", "A job that is held is left as it is by Add."},
		needTable, func(t *testing.T, s *subject) {
			j, l := s.addAndTake(t, 0, time.Minute)
			s.add(t, j, 0)
			s.none(t, time.Second)
			s.remove(t, l, false)
			s.none(t, time.Hour)
		}},

	{Rule{"leases/add-dead", "A dead job is left as it is by Add: no error, and no Claim " +
		"returns it."},
		needTable, func(t *testing.T, s *subject) {
			j, l := s.addAndTake(t, 0, time.Minute)
			s.remove(t, l, true)
			s.add(t, j, 0)
			s.none(t, time.Hour)
		}},

	{Rule{"leases/add-concurrent", "Add is atomic: of many at once with one job, one adds it."},
		needTable, func(t *testing.T, s *subject) {
			j := newJob()
			var errs [16]error
			conformance.Together(len(errs), func(i int) { errs[i] = s.Leases.Add(t.Context(), j) })
			conformance.NoErrors(t, errs[:])
			s.take(t, j, 0, time.Hour)
		}},
}

// cancelRules are the rules of Cancel of a table.
var cancelRules = []rule{
	{Rule{"leases/cancel", "Cancel removes a job that nobody holds, whatever its At; it can be " +
		"added anew then."},
		needTable, func(t *testing.T, s *subject) {
			released, l := s.addAndTake(t, 0, time.Minute)
			s.release(t, l, 0, time.Hour)
			jobs := []mortise.Job{s.add(t, newJob(), 0), s.add(t, newJob(), 2*time.Hour), released}
			for _, j := range jobs {
				s.cancel(t, j)
			}
			s.none(t, 3*time.Hour)
			for i, j := range jobs {
				at := time.Duration(4+i) * time.Hour
				s.add(t, j, at)
				s.none(t, at-time.Microsecond)
				require.Equal(t, 1, s.take(t, j, at, 24*time.Hour).Deliveries)
			}
		}},

	{Rule{"leases/cancel-held", "A job that is held is left as it is by Cancel, also once its " +
		"lease has ended."},
		needTable, func(t *testing.T, s *subject) {
			j, l := s.addAndTake(t, 0, time.Minute)
			s.cancel(t, j)
			s.extend(t, l, 0, 2*time.Minute)
			s.at(time.Hour)
			s.cancel(t, j)
			s.extend(t, l, time.Hour, 2*time.Hour)
			s.none(t, 2*time.Hour-time.Microsecond)
			require.Equal(t, 2, s.take(t, j, 2*time.Hour, 3*time.Hour).Deliveries)
		}},

	{Rule{"leases/cancel-dead", "A dead job, and one that is not there, is left as it is by " +
		"Cancel: no error."},
		needTable, func(t *testing.T, s *subject) {
			s.cancel(t, newJob())
			j, l := s.addAndTake(t, 0, time.Minute)
			s.remove(t, l, true)
			s.cancel(t, j)
			s.add(t, j, 0)
			s.none(t, time.Hour)
			other, l := s.addAndTake(t, 0, time.Minute)
			s.remove(t, l, false)
			s.cancel(t, other)
			s.none(t, time.Hour)
		}},
}
