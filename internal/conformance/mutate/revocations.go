package mutate

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise"
)

// Uncounted returns a mutant for each method, whose calls leave mortise.Revocations as it was.
func Uncounted(breaks string, methods ...string) (all []Mutant) {
	for _, method := range methods {
		all = append(all, Mutant{Name: "does not count " + method, Breaks: []string{breaks}, Make: func(on any) {
			count := reflect.ValueOf(on).Elem().FieldByName("Revocations")
			inner := count.Interface().(func(context.Context) (mortise.Revocations, error))
			var hidden atomic.Int64
			Around(on, func(c *Call) {
				before, _ := inner(context.Background())
				c.Go()
				after, _ := inner(context.Background())
				hidden.Add(after.N - before.N)
			}, method)
			count.Set(reflect.ValueOf(func(ctx context.Context) (mortise.Revocations, error) {
				now, err := inner(ctx)
				now.N -= hidden.Load()
				return now, err
			}))
		}})
	}
	return all
}
