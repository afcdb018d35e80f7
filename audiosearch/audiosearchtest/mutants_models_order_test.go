package audiosearchtest_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// everyOrder makes the mutant ask for other models than it is asked for.
func everyOrder(change func(family, model string) (string, string)) func(*mutant) {
	return replace("ModelOrder", func(m *mutant, ctx context.Context, family, model string) (int64, error) {
		family, model = change(family, model)
		return m.db.ModelOrder(ctx, family, model)
	})
}

var modelOrderMutants = []broken{
	{name: "gives each call a new place", breaks: "models/order", mutate: func(m *mutant) {
		var places atomic.Int64
		m.On.ModelOrder = func(ctx context.Context, _, _ string) (int64, error) { return places.Add(1), ctx.Err() }
	}},
	{name: "orders models backwards", breaks: "models/order",
		mutate: replace("ModelOrder", func(m *mutant, ctx context.Context, family, model string) (int64, error) {
			place, err := m.db.ModelOrder(ctx, family, model)
			return 1_000_000 - place, err
		})},
	{name: "orders from 0 on", breaks: "models/order",
		mutate: replace("ModelOrder", func(m *mutant, ctx context.Context, family, model string) (int64, error) {
			place, err := m.db.ModelOrder(ctx, family, model)
			return place - 1, err
		})},
	{name: "orders without the family", breaks: "models/order-exact",
		mutate: everyOrder(func(_, model string) (string, string) { return "", model })},
	{name: "orders families only", breaks: "models/order", mutate: everyOrder(func(family, _ string) (string, string) { return family, "" })},
	{name: "orders whatever the case", breaks: "models/order-exact",
		mutate: everyOrder(func(family, model string) (string, string) { return family, strings.ToLower(model) })},
	{name: "orders names that run together", breaks: "models/order-exact",
		mutate: everyOrder(func(family, model string) (string, string) { return strings.TrimSpace(family), model })},
	{name: "orders anew after a dataset is deleted", breaks: "models/order-is-for-all", mutate: func(m *mutant) {
		var deleted atomic.Bool
		m.On.DeleteDataset = func(ctx context.Context, org, id string) error {
			deleted.Store(true)
			return m.db.DeleteDataset(ctx, org, id)
		}
		everyOrder(func(family, model string) (string, string) {
			if deleted.Load() {
				family += " again"
			}
			return family, model
		})(m)
	}},
	{name: "looks for a place and then takes it", breaks: "models/order-concurrent", mutate: func(m *mutant) {
		var mu sync.Mutex
		places := make(map[string]int64)
		m.On.ModelOrder = func(ctx context.Context, family, model string) (int64, error) {
			key := family + " " + model
			mu.Lock()
			place, next := places[key], int64(len(places))+1
			mu.Unlock()
			if place != 0 {
				return place, ctx.Err()
			}
			conformance.Seam()
			mu.Lock()
			defer mu.Unlock()
			places[key] = next
			return next, ctx.Err()
		}
	}},
	{name: "orders for a context that has ended", breaks: "models/order-ended-context",
		mutate: replace("ModelOrder", func(m *mutant, ctx context.Context, family, model string) (int64, error) {
			return m.db.ModelOrder(context.WithoutCancel(ctx), family, model)
		})},
}
