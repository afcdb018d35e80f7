package listtest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

var cursorType = reflect.TypeFor[mortise.Cursor]()

// Methods returns the lists in a struct of functions, as package mutate has them: the
// functions whose first result is a page.
func Methods(methods any) (names []string) {
	all := reflect.TypeOf(methods).Elem()
	for i := range all.NumField() {
		f := all.Field(i)
		if f.Type.Kind() == reflect.Func && f.Type.NumOut() == 2 && isPage(f.Type.Out(0)) {
			names = append(names, f.Name)
		}
	}
	return names
}

func isPage(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	next, ok := t.FieldByName("Next")
	return ok && next.Type == cursorType
}

// call is a call of a list.
type call struct{ *mutate.Call }

// after and limit are the arguments of these names, or the fields of a query.
func (c call) after() *mortise.Cursor {
	for _, in := range c.In {
		switch {
		case in.Type() == cursorType:
			return in.Addr().Interface().(*mortise.Cursor)
		case in.Kind() == reflect.Struct && in.FieldByName("After").IsValid():
			return in.FieldByName("After").Addr().Interface().(*mortise.Cursor)
		}
	}
	panic("listtest: no cursor in the arguments of " + c.Method)
}

func (c call) limit() *int {
	for _, in := range slices.Backward(c.In) {
		switch {
		case in.Kind() == reflect.Int:
			return in.Addr().Interface().(*int)
		case in.Kind() == reflect.Struct && in.FieldByName("Limit").IsValid():
			return in.FieldByName("Limit").Addr().Interface().(*int)
		}
	}
	panic("listtest: no limit in the arguments of " + c.Method)
}

func (c call) items() reflect.Value { return c.Out[0].FieldByName("Items") }
func (c call) next() *mortise.Cursor {
	return c.Out[0].FieldByName("Next").Addr().Interface().(*mortise.Cursor)
}

// of asks for another page.
func (c call) of(after mortise.Cursor, limit int) {
	wasAfter, wasLimit := *c.after(), *c.limit()
	*c.after(), *c.limit() = after, limit
	c.Go()
	*c.after(), *c.limit() = wasAfter, wasLimit
}

// mistakes are the mistakes that any list can make, and the rules that find them.
// Each is made anew for a mutant.
var mistakes = map[string]struct {
	rules []string // endings of IDs
	make  func() func(c call)
}{
	"repeats the last item of a page": {[]string{"", Changing, Cursors}, always(func(c call) {
		limit := *c.limit()
		c.of(*c.after(), max(1, limit-1))
		before := *c.next()
		if c.Go(); *c.next() != "" && limit > 1 {
			*c.next() = before
		} else if *c.next() != "" {
			*c.next() = *c.after()
		}
	})},
	"skips the first item of the next page": {[]string{"", Changing, Cursors}, always(func(c call) {
		c.of(*c.after(), *c.limit()+1)
		behind := *c.next()
		if c.Go(); *c.next() != "" {
			*c.next() = behind
		}
	})},
	"says that 100 items are all": {[]string{""}, always(func(c call) {
		if c.Go(); c.items().Len() == 100 {
			*c.next() = ""
		}
	})},
	"has a page behind the last one": {[]string{"", Changing, Cursors}, always(func(c call) {
		before := *c.after()
		if c.Go(); *c.next() == "" && before != "" && c.items().Len() > 0 {
			*c.next() = before
		}
	})},
	"returns one item more than the limit": {[]string{"", Changing, Cursors}, always(func(c call) { c.of(*c.after(), *c.limit()+1) })},
	"lists the other way round": {[]string{""}, always(func(c call) {
		c.Go()
		items := c.items()
		turned := reflect.MakeSlice(items.Type(), 0, items.Len())
		for i := range items.Len() {
			turned = reflect.Append(turned, items.Index(items.Len()-1-i))
		}
		items.Set(turned)
	})},
	"lists one organization": {[]string{""}, always(func(c call) {
		if org := mutate.Get[string](c.In); org != nil {
			*org = "org-a"
			c.Go()
			return
		}
		c.Go()
		c.items().SetLen(0) // a list of all organizations has no argument for one
	})},
	"pages by number": {[]string{Changing}, func() func(c call) {
		numbers := make(map[mortise.Cursor]int)
		return func(c call) {
			skip := numbers[*c.after()]
			limit := *c.limit()
			c.of("", mortise.MaxPageSize)
			all := c.items()
			from, to := min(skip, all.Len()), min(skip+limit, all.Len())
			if *c.next() = ""; to < all.Len() {
				*c.next() = mortise.Cursor(fmt.Sprint("number-", to))
				numbers[*c.next()] = to
			}
			all.Set(all.Slice(from, to))
		}
	}},
	"knows a cursor once": {[]string{Cursors}, func() func(c call) {
		used := make(map[mortise.Cursor]bool)
		return func(c call) {
			after := *c.after()
			if c.Go(); after != "" && used[after] {
				*c.Err() = errors.New("a cursor that was used")
			}
			used[after] = true
		}
	}},
	"fails at a text that is no cursor": {[]string{Cursors}, always(func(c call) {
		if c.Go(); *c.Err() != nil {
			*c.Err() = errors.New("the text is no cursor")
		}
	})},
	"has no items after a text that is no cursor": {[]string{Cursors}, always(func(c call) {
		if c.Go(); *c.Err() != nil {
			*c.Err() = nil
		}
	})},
	"has a Next after the last item of a full page": {[]string{"", Cursors}, always(func(c call) {
		if c.Go(); *c.next() == "" && c.items().Len() == *c.limit() {
			last := c.items().Index(c.items().Len() - 1).Addr().MethodByName("Position").Call(nil)[0]
			*c.next() = last.Interface().(mortise.Position).Cursor()
		}
	})},
	"makes cursors with a space": {[]string{"", Changing, Cursors}, always(func(c call) {
		*c.after() = mortise.Cursor(strings.TrimSpace(string(*c.after())))
		if c.Go(); *c.next() != "" {
			*c.next() += " "
		}
	})},
}

func always(do func(c call)) func() func(c call) { return func() func(c call) { return do } }

// Mutants returns one for each mistake of each list. rules names the list of each method, with
// spaces between. It panics if a list in the struct of functions has none, except for those
// methods that are named.
func Mutants(methods any, rules map[string]string, except ...string) (all []mutate.Mutant) {
	for _, method := range Methods(methods) {
		if rules[method] == "" && !slices.Contains(except, method) {
			panic(fmt.Sprintf("listtest: %s is a list, and no rule tries it", method))
		}
	}
	for _, method := range slices.Sorted(maps.Keys(rules)) {
		for _, name := range slices.Sorted(maps.Keys(mistakes)) {
			mistake := mistakes[name]
			m := mutate.Mutant{Name: fmt.Sprintf("%s in %s", name, method), Make: func(methods any) {
				do := mistake.make()
				mutate.Around(methods, func(c *mutate.Call) { do(call{c}) }, method)
			}}
			for _, id := range strings.Fields(rules[method]) {
				for _, ending := range mistake.rules {
					m.Breaks = append(m.Breaks, "lists/"+id+ending)
				}
			}
			all = append(all, m)
		}
	}
	return all
}

// Halve makes every page hold half of its limit, or one item, as a right backend may.
func Halve(methods any) {
	mutate.Around(methods, func(c *mutate.Call) {
		if limit := (call{c}).limit(); *limit > 1 {
			*limit /= 2
		}
		c.Go()
	}, Methods(methods)...)
}
