package authmgmttest_test

import (
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// countMutants count wrong.
var countMutants = []broken{
	{name: "knows no organization without anything", breaks: "kept/of-organization", mutate: around(func(c *mutate.Call) {
		if c.Go(); mutate.Get[mortise.Count](c.Out).N == 0 {
			*c.Err() = mortise.ErrNotFound
		}
	}, "CountKept")},
	{name: "counts clients that were deleted", breaks: "kept/clients", mutate: func(m *mutant) {
		made := 0
		in(func(*authmgmt.Client) { made++ }, "CreateClient")(m)
		around(func(c *mutate.Call) {
			if c.Go(); *mutate.Get[string](c.In) == "org-a" {
				mutate.Get[mortise.Count](c.Out).N = made
			}
		}, "CountKept")(m)
	}},
	{name: "counts invitations that have expired", breaks: "kept/invitations", mutate: arg(
		func(now *time.Time) { *now = time.Unix(0, 0) }, "CountKept")},
	{name: "counts by a time of its own", breaks: "kept/invitations", mutate: arg(
		func(now *time.Time) { *now = time.Now() }, "CountKept")},
	{name: "counts invitations that were accepted", breaks: "kept/invitations", mutate: func(m *mutant) {
		mutate.Around(&m.On, func(c *mutate.Call) {
			c.Go()
			c.Out[1].Addr().Interface().(*mortise.Count).N += len(waitingOf(m, *mutate.Get[string](c.In)))
		}, "CountKept")
	}},
	{name: "counts for organizations that are alike", breaks: "kept/of-organization", mutate: arg(
		func(org *string) { *org = strings.ToLower(*org) }, "CountKept")},
	{name: "counts one too many", breaks: "kept/up-to-most", mutate: arg(func(most *int) { *most++ }, "CountKept")},
	{name: "says that there is more where all was counted", breaks: "kept/up-to-most", mutate: around(func(c *mutate.Call) {
		c.Go()
		clients := mutate.Get[mortise.Count](c.Out)
		clients.More = clients.N >= *mutate.Get[int](c.In)
	}, "CountKept")},
}
