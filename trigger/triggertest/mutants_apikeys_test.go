package triggertest_test

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// listsKeys puts something between the caller and the listing of keys.
func listsKeys(do func(q trigger.KeyQuery, ask askKeys) mortise.Page[trigger.APIKey]) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		q, page := mutate.Get[trigger.KeyQuery](c.In), mutate.Get[mortise.Page[trigger.APIKey]](c.Out)
		*page = do(*q, func(asked trigger.KeyQuery) mortise.Page[trigger.APIKey] {
			*q = asked
			c.Go()
			return *page
		})
	}, "ListKeys")
}

type askKeys = func(trigger.KeyQuery) mortise.Page[trigger.APIKey]

// apiKeyMutants are wrong about the pages of ListKeys.
var apiKeyMutants = []broken{
	{name: "orders keys of one time as GUIDs", breaks: "keys/list-equal-times-by-id", mutate: listsKeys(
		func(q trigger.KeyQuery, ask askKeys) mortise.Page[trigger.APIKey] {
			page := ask(q)
			slices.SortStableFunc(page.Items, func(a, b trigger.APIKey) int {
				if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
					return c
				}
				return slices.Compare(b.ID[:], a.ID[:])
			})
			return page
		})},
	{name: "repeats keys of one time", breaks: "keys/list-pages keys/list-pages-while-keys-come keys/list-after-any-position",
		mutate: arg(func(q *trigger.KeyQuery) { q.After.ID = uuid.Nil })},
	{name: "leaves out keys of one time",
		breaks: "keys/list-pages keys/list-pages-while-keys-come keys/list-after-any-position",
		mutate: arg(func(q *trigger.KeyQuery) {
			if !q.After.IsZero() {
				q.After.ID = uuid.Max
			}
		})},
	{name: "has one more empty page of keys", breaks: "keys/list-pages", mutate: listsKeys(
		func(q trigger.KeyQuery, ask askKeys) mortise.Page[trigger.APIKey] {
			page := ask(q)
			if n := len(page.Items); n > 0 && n == q.Limit {
				page.Next = page.Items[n-1].Position()
			}
			return page
		})},
	{name: "pages keys by number", breaks: "keys/list-pages-while-keys-come keys/list-after-any-position", mutate: func(m *mutant) {
		numbers := make(map[mortise.Position]int)
		listsKeys(func(q trigger.KeyQuery, ask askKeys) mortise.Page[trigger.APIKey] {
			all := ask(trigger.KeyQuery{Limit: mortise.MaxPageSize}).Items
			from := 0
			if !q.After.IsZero() {
				from = numbers[q.After]
			}
			rest := all[min(from, len(all)):]
			page := mortise.Page[trigger.APIKey]{Items: rest[:min(max(q.Limit, 0), len(rest))]}
			for i := range page.Items {
				numbers[page.Items[i].Position()] = from + i + 1
			}
			if n := len(page.Items); n > 0 && n < len(rest) {
				page.Next = page.Items[n-1].Position()
			}
			return page
		})(m)
	}},
	{name: "begins anew where no key stands", breaks: "keys/list-after-any-position", mutate: listsKeys(
		func(q trigger.KeyQuery, ask askKeys) mortise.Page[trigger.APIKey] {
			all := ask(trigger.KeyQuery{Limit: mortise.MaxPageSize}).Items
			if !slices.ContainsFunc(all, func(k trigger.APIKey) bool { return k.Position().Compare(q.After) == 0 }) {
				q.After = mortise.Position{}
			}
			return ask(q)
		})},
	{name: "takes a key's position by the clock on the wall", breaks: "keys/list-after-any-position", mutate: arg(func(q *trigger.KeyQuery) {
		_, offset := q.After.At.Zone()
		q.After.At = q.After.At.Add(time.Duration(offset) * time.Second)
	})},
	{name: "lists all keys for a limit of 0", breaks: "keys/list-limit-zero", mutate: arg(func(q *trigger.KeyQuery) {
		if q.Limit == 0 {
			q.Limit = mortise.MaxPageSize
		}
	})},
	{name: "stays where it is for a limit of 0 keys", breaks: "keys/list-limit-zero", mutate: listsKeys(
		func(q trigger.KeyQuery, ask askKeys) mortise.Page[trigger.APIKey] {
			page := ask(q)
			if q.Limit == 0 {
				page.Next = q.After
			}
			return page
		})},
}
