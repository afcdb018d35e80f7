package steptest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// Methods returns the bounded steps in a struct of functions, as package mutate has them, by
// their shape.
func Methods(methods any) (names []string) {
	all := reflect.ValueOf(methods).Elem()
	for i := range all.NumField() {
		f := all.Type().Field(i)
		if isStep(f.Type) {
			names = append(names, f.Name)
		}
	}
	return names
}

var results = []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[bool](), reflect.TypeFor[error]()}

func isStep(f reflect.Type) bool {
	if f.Kind() != reflect.Func || f.NumIn() < 2 || f.In(f.NumIn()-1) != results[0] || f.NumOut() != len(results) {
		return false
	}
	for i, result := range results {
		if f.Out(i) != result {
			return false
		}
	}
	return true
}

// Halve makes every step do half of its limit, or one unit, as a right backend may.
func Halve(methods any) {
	mutate.Around(methods, func(c *mutate.Call) {
		if limit := limitOf(c); limit > 1 {
			setLimit(c, limit/2)
		}
		c.Go()
	}, Methods(methods)...)
}

// The limit is the last argument.
func limitOf(c *mutate.Call) int         { return int(c.In[len(c.In)-1].Int()) }
func setLimit(c *mutate.Call, limit int) { c.In[len(c.In)-1].SetInt(int64(limit)) }
func done(c *mutate.Call) (n int)        { return *mutate.Get[int](c.Out) }
func say(c *mutate.Call, n int, more bool) {
	*mutate.Get[int](c.Out), *mutate.Get[bool](c.Out) = n, more
}
func more(c *mutate.Call) bool { return *mutate.Get[bool](c.Out) }

// mistakes are those that a step can make, whatever it does.
var mistakes = map[string]func(c *mutate.Call){
	"does more than its limit": func(c *mutate.Call) {
		limit := limitOf(c)
		setLimit(c, limit*1000)
		if c.Go(); done(c) > limit {
			say(c, limit, true)
		}
	},
	"does fewer than its limit and says no more": func(c *mutate.Call) {
		setLimit(c, (limitOf(c)+1)/2)
		c.Go()
		say(c, done(c), false)
	},
	"says more when nothing is left": func(c *mutate.Call) {
		c.Go()
		say(c, done(c), true)
	},
	"says more and does nothing": func(c *mutate.Call) {
		setLimit(c, 0)
		c.Go()
		say(c, 0, true)
	},
	"counts what it has not done": func(c *mutate.Call) {
		limit := limitOf(c)
		c.Go()
		say(c, limit, limit > 0 && more(c))
	},
	"does not count what it has done": func(c *mutate.Call) {
		c.Go()
		say(c, max(done(c)-1, 0), more(c))
	},
	"does one with a limit of 0": func(c *mutate.Call) {
		setLimit(c, max(limitOf(c), 1))
		c.Go()
	},
}

// Mutants returns one for each mistake of each step, except for those mutants that are named.
// rules names the rules of each method, with spaces between. It panics if a step in the
// struct of functions has none.
func Mutants(methods any, rules map[string]string, except ...string) (all []mutate.Mutant) {
	for _, method := range Methods(methods) {
		if rules[method] == "" {
			panic(fmt.Sprintf("steptest: %s is a bounded step, and no rule tries it", method))
		}
	}
	for _, method := range slices.Sorted(maps.Keys(rules)) {
		for _, name := range slices.Sorted(maps.Keys(mistakes)) {
			m := mutate.Mutant{
				Name:   fmt.Sprintf("%s in %s", name, method),
				Breaks: strings.Fields(rules[method]),
				Make:   func(methods any) { mutate.Around(methods, mistakes[name], method) },
			}
			if !slices.Contains(except, m.Name) {
				all = append(all, m)
			}
		}
		beside := mutate.Mutant{
			Name: "says more and does nothing beside another call in " + method,
			Make: func(methods any) { mutate.Around(methods, besideOthers(), method) },
		}
		for _, id := range strings.Fields(rules[method]) {
			beside.Breaks = append(beside.Breaks, id+AtOnce)
		}
		all = append(all, beside)
	}
	return all
}

// besideOthers returns a mistake that a step makes while another one is at it.
func besideOthers() func(c *mutate.Call) {
	var busy atomic.Bool
	return func(c *mutate.Call) {
		if !busy.CompareAndSwap(false, true) {
			say(c, 0, true)
			return
		}
		conformance.Seam()
		c.Go()
		busy.Store(false)
	}
}
