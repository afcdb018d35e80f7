package audiosearchtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// orderCalls are the calls of ModelStore that need no dataset.
func (s *subject) orderCalls() []call {
	return []call{{"ModelOrder", func(ctx context.Context, _, _ string) error {
		_, err := s.Models.ModelOrder(ctx, "f", modelX)
		return err
	}}}
}

// order asks for the place of a model.
func (s *subject) order(t *testing.T, family, model string) int64 {
	t.Helper()
	place, err := s.Models.ModelOrder(t.Context(), family, model)
	require.NoError(t, err, "ModelOrder of %q, %q", family, model)
	return place
}

// modelOrderRules are the rules of ModelOrder.
var modelOrderRules = []rule{
	{Rule{"models/order", "ModelOrder returns places from 1 on, in the order in which models were first asked for, and the same place again."}, needModels,
		func(t *testing.T, s *subject) {
			first := s.order(t, "f", modelY)
			require.GreaterOrEqual(t, first, int64(1))
			second := s.order(t, "f", modelX)
			require.Greater(t, second, first)
			require.Equal(t, first, s.order(t, "f", modelY))
			require.Greater(t, s.order(t, "f", "a/1"), second)
			require.Equal(t, second, s.order(t, "f", modelX))
		}},

	{Rule{"models/order-exact", "Models are the same to ModelOrder if every byte of their families and IDs is."}, needModels,
		func(t *testing.T, s *subject) {
			last := int64(0)
			places := make(map[[2]string]int64)
			for _, family := range exactNames {
				for _, model := range exactNames {
					place := s.order(t, family, model)
					require.Greater(t, place, last, "%q, %q", family, model)
					places[[2]string{family, model}], last = place, place
				}
			}
			for id, place := range places {
				require.Equal(t, place, s.order(t, id[0], id[1]), "%q", id)
			}
		}},

	{Rule{"models/order-is-for-all", "The places of ModelOrder have nothing to do with datasets: they stay when a dataset is deleted."}, needModels,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			first := s.order(t, "f", modelX)
			s.setModel(t, "", modelX, 0)
			s.setModel(t, modelX, modelY, 0)
			require.Equal(t, first, s.order(t, "f", modelX))
			require.Greater(t, s.order(t, "f", modelY), first)
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
			require.Equal(t, first, s.order(t, "f", modelX))
		}},

	{Rule{"models/order-concurrent", "Of many calls at once for new models, each model has one place, and no two have the same."}, needModels,
		func(t *testing.T, s *subject) {
			const rounds, callers = 10, 4
			for round := range rounds {
				var places [callers]int64
				var errs [callers]error
				// Two callers ask for each model.
				conformance.Together(callers, func(i int) {
					places[i], errs[i] = s.Models.ModelOrder(t.Context(), "f", fmt.Sprint("m/", round, "/", i/2))
				})
				for _, err := range errs {
					require.NoError(t, err)
				}
				require.Equal(t, []int64{places[0], places[2]}, []int64{places[1], places[3]}, "of each model")
				require.NotEqual(t, places[0], places[2])
			}
		}},

	{Rule{"models/order-ended-context", endedText}, needModels,
		func(t *testing.T, s *subject) {
			s.order(t, "f", modelX)
			allFail(conformance.Ended(t), t, s.orderCalls())
			allWork(t, s.orderCalls())
		}},

	{Rule{"models/order-failure", brokenText}, needModels | needBreak,
		func(t *testing.T, s *subject) {
			s.order(t, "f", modelX)
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.orderCalls())
			heal()
			allWork(t, s.orderCalls())
		}},

	{Rule{"models/order-durable", "The places of ModelOrder outlive the process."}, needModels | needReopen,
		func(t *testing.T, s *subject) {
			y, x := s.order(t, "f", modelY), s.order(t, "f", modelX)
			s.reopen(t)
			require.Greater(t, s.order(t, "f", "new/1"), x)
			require.Equal(t, []int64{y, x}, []int64{s.order(t, "f", modelY), s.order(t, "f", modelX)})
		}},
}
