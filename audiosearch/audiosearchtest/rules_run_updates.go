package audiosearchtest

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// runUpdateRules are the rules of UpdateRun.
var runUpdateRules = []rule{
	{Rule{"runs/update", "UpdateRun calls update with the run as it is and stores what it leaves: everything but organization, ID and CreatedAt may change."}, needRuns,
		func(t *testing.T, s *subject) {
			r, bystander := s.createRun(t, plainRun(orgA, 0)), s.createRun(t, plainRun(orgA, 0))
			filled := endedRun(orgA, 0)
			filled.ID, filled.CreatedAt, filled.State = r.ID, r.CreatedAt, audiosearch.StateTerminating
			var seen audiosearch.Run
			s.updateRun(t, r, func(stored *audiosearch.Run) { seen, *stored = stored.Clone(), filled.Clone() })
			sameRun(t, r, seen)
			s.hasRun(t, filled)
			s.updateRun(t, r, func(stored *audiosearch.Run) { seen, *stored = stored.Clone(), r.Clone() })
			sameRun(t, filled, seen)
			s.hasRun(t, r)
			s.hasRun(t, bystander)
		}},

	{Rule{"runs/update-ignores-identity", "Changes of organization, ID and CreatedAt by an update are ignored."}, needRuns,
		func(t *testing.T, s *subject) {
			want := s.createRun(t, plainRun(orgA, 0))
			moved := newRunID()
			s.updateRun(t, want, func(r *audiosearch.Run) {
				r.ID, r.Organization, r.CreatedAt = moved, orgB, moment(time.Hour)
				r.Attempts = 7
			})
			want.Attempts = 7
			s.hasRun(t, want)
			s.isUnknown(t, orgA, moved)
			s.isUnknown(t, orgB, moved)
			s.isUnknown(t, orgB, want.ID)
		}},

	{Rule{"runs/update-copies", "What an update function sees and leaves is its own to change."}, needRuns,
		func(t *testing.T, s *subject) {
			want := s.createRun(t, endedRun(orgA, 0))
			var kept *audiosearch.Run
			s.updateRun(t, want, func(r *audiosearch.Run) { kept = r })
			spoilRun(kept)
			s.hasRun(t, want)

			mine := want.Clone()
			s.updateRun(t, want, func(r *audiosearch.Run) {
				r.Query.Filters, r.Trace = mine.Query.Filters, mine.Trace
			})
			spoilRun(&mine)
			s.hasRun(t, want)
		}},

	{Rule{"runs/update-error-changes-nothing", "If update returns an error, nothing is changed, and that error is returned, so that errors.Is finds it."}, needRuns,
		func(t *testing.T, s *subject) {
			want := s.createRun(t, endedRun(orgA, 0))
			refused := errors.New("refused")
			for _, cause := range []error{refused, fmt.Errorf("because: %w", refused), audiosearch.ErrFinished} {
				err := s.Runs.UpdateRun(t.Context(), orgA, want.ID, func(r *audiosearch.Run) error {
					spoilRun(r)
					r.State, r.FinishedAt, r.ResultSet = audiosearch.StateRunning, time.Time{}, uuid.Nil
					return cause
				})
				require.ErrorIs(t, err, cause)
				s.hasRun(t, want)
				sameResults(t, want.Results, s.results(t, want))
			}
		}},

	{Rule{"runs/update-panic", "A panic in update changes nothing, and leaves the store usable."}, needRuns,
		func(t *testing.T, s *subject) {
			want := s.createRun(t, plainRun(orgA, 0))
			var err error
			func() {
				defer func() {
					if p := recover(); p != nil {
						err = errors.New("panicked")
					}
				}()
				err = s.Runs.UpdateRun(t.Context(), orgA, want.ID, func(r *audiosearch.Run) error {
					r.Attempts = 99
					panic("of a rule of audiosearchtest; nothing is wrong")
				})
			}()
			require.Error(t, err, "the panic was swallowed")
			s.hasRun(t, want)
			s.updateRun(t, want, func(r *audiosearch.Run) { r.Attempts = 1 })
			want.Attempts = 1
			s.hasRun(t, want)
			s.createRun(t, plainRun(orgA, 0))
		}},

	{Rule{"runs/update-concurrent", "UpdateRun is atomic: of concurrent updates none is lost."}, needRuns,
		func(t *testing.T, s *subject) {
			const workers, each = 8, 20
			r := s.createRun(t, plainRun(orgA, 0))
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				for range each {
					errs[i] = s.Runs.UpdateRun(t.Context(), orgA, r.ID, func(r *audiosearch.Run) error {
						runtime.Gosched() // gives others the chance to come between
						r.Done++
						return nil
					})
					if errs[i] != nil {
						return
					}
				}
			})
			conformance.NoErrors(t, errs[:])
			require.Equal(t, workers*each, s.run(t, r).Done)
		}},

	{Rule{"runs/reads-are-whole", "Another caller sees all of an update's effect or none, in a run and in its results."}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			var sets []uuid.UUID
			for n := range 4 {
				var results []audiosearch.Result
				for range n + 1 {
					results = append(results, audiosearch.Result{VideoID: fmt.Sprint(n)})
				}
				sets = append(sets, s.putSet(t, r, results))
			}
			set := func(n int) func(*audiosearch.Run) {
				return func(r *audiosearch.Run) { r.Done, r.Message, r.ResultSet = n, fmt.Sprint(n), sets[n%4] }
			}
			s.updateRun(t, r, set(0))
			look := func(i int) error {
				if i%3 < 2 {
					got, err := s.Runs.Run(t.Context(), orgA, r.ID)
					if i%3 == 1 {
						var listed mortise.Page[audiosearch.Run]
						listed, err = s.Runs.ListRuns(t.Context(), orgA, audiosearch.RunQuery{Limit: 1})
						if err == nil && len(listed.Items) != 1 {
							return fmt.Errorf("%d runs are listed", len(listed.Items))
						}
						got = append(listed.Items, got)[0]
					}
					if err == nil && fmt.Sprint(got.Done) != got.Message {
						err = fmt.Errorf("half an update: done %d, message %q", got.Done, got.Message)
					}
					return err
				}
				results, err := s.Results.RunResults(t.Context(), orgA, r.ID, 0)
				for _, one := range results {
					if one.VideoID != fmt.Sprint(len(results)-1) {
						err = fmt.Errorf("half an update: %d results, one of which is of %s", len(results), one.VideoID)
					}
				}
				return err
			}
			conformance.Watch(t, 6, look, 50, func(n int) {
				s.updateRun(t, r, set(n))
				require.NoError(t, errors.Join(look(0), look(1), look(2)))
			})
		}},
}
