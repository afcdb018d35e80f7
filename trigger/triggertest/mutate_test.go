package triggertest_test

import (
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// The methods of the mutant that are alike.
var (
	creations  = []string{"CreateEvent", "CreateEventAndAdd"}
	eventReads = []string{"CreateEvent", "Event", "ListEvents"}
)

// out, in, arg, errs, around and updating are those of package mutate, as a whole mutation.
func out[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Out(&m.On, change, methods...) }
}

func in[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.In(&m.On, change, methods...) }
}

func arg[T any](change func(*T), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Arg(&m.On, change, methods...) }
}

func errs(change func(error) error, methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Errors(&m.On, change, methods...) }
}

func around(do func(m *mutant, c *mutate.Call), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Around(&m.On, func(c *mutate.Call) { do(m, c) }, methods...) }
}

func updating(do func(*mutate.Call), methods ...string) func(*mutant) {
	return func(m *mutant) { mutate.Updates(&m.On, do, methods...) }
}

// replace puts a function in the place of a method. It takes the mutant before the rest.
func replace(method string, f any) func(*mutant) {
	return func(m *mutant) { mutate.Replace(&m.On, method, m, f) }
}

// both makes several mistakes.
func both(mutations ...func(*mutant)) func(*mutant) {
	return func(m *mutant) {
		for _, mutation := range mutations {
			mutation(m)
		}
	}
}

// forgiving makes methods return no error where they should.
func forgiving(methods ...string) func(*mutant) {
	return errs(func(error) error { return nil }, methods...)
}

// created is an answer of CreateEvent and CreateEventAndAdd.
func created(c *mutate.Call, e trigger.Event, isNew bool) {
	*mutate.Get[trigger.Event](c.Out), *mutate.Get[bool](c.Out), *c.Err() = e, isNew, nil
}

// creating makes a mutant whose CreateEvent is another one.
func creating(do func(m *mutant, c *mutate.Call, e *trigger.Event)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) { do(m, c, mutate.Get[trigger.Event](c.In)) }, "CreateEvent")
}

// keptMutants make each mistake with each field of what the store keeps.
func keptMutants() (all []broken) {
	for _, x := range slices.Concat(
		mutate.Kept[trigger.Event]{
			Name: "event", Key: func(e *trigger.Event) string { return e.Organization + "/" + e.ID.String() },
			Stored: "store/create-returns-what-it-stored", Times: "store/times-keep-microseconds",
			Unset: "store/unset-stays-unset", Bytes: "store/strings-keep-every-byte",
			Free:    "Instructions LastError Outcome.Summary Failures.Error",
			Longest: "store/longest", LongestLeft: "LastError Outcome.Summary Outcome.Data",
			Given: "store/create-copies", Left: "store/update-copies", Got: "store/get-copies store/list-returns-whole-events",
			Except: map[string]string{
				"sets to the epoch SubmittedAt": "it is always set",
				"composes letters Status":       "it is one of a few words",
			},
		}.Mutants(),
		mutate.Kept[trigger.Organization]{
			Name: "organization", Key: func(o *trigger.Organization) string { return o.ID },
			Stored: "organizations/update-stores-what-it-leaves", Longest: "organizations/longest",
			Left: "organizations/copies", Got: "organizations/copies",
		}.Mutants(),
		mutate.Kept[trigger.APIKey]{Name: "key", Stored: "keys/create-stores", Longest: "keys/longest", LongestLeft: "Name"}.Mutants(),
		stepMutants(),
		mutate.Uncounted("revocations/grow", "UpdateKey", "MarkDeleted"),
		listtest.Mutants(&new(mutant).On, map[string]string{"ListEvents": "events received-events events-of-source", "AllEvents": "overdue-events failed-events", "ListKeys": "keys"}),
	) {
		all = append(all, broken{name: x.Name, breaks: strings.Join(x.Breaks, " "), mutate: func(m *mutant) { x.Make(&m.On) }})
	}
	return all
}
