package mutate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mutant is a mistake.
type Mutant struct {
	Name   string            // what the backend does wrong
	Breaks []string          // the ids of the rules that find it
	Make   func(methods any) // makes it, in a struct of functions
}

// Kept is what a store keeps: structs of type T, with the rules that find a mistake made
// with one of its fields, those of structs in it included. Each is the id of a rule, or of
// some with spaces between; a mistake without a rule is not made.
type Kept[T any] struct {
	Name string          // of one, in the names of mutants: "client"
	Key  func(*T) string // tells one from another: for Given, Left and Got

	Stored string // finds fields that are not set, and lists in another order
	Times  string // finds times cut to milliseconds, or in a time zone
	Unset  string // finds zero times that are the epoch, and nil pointers that are not
	Bytes  string // finds strings whose letters were composed, and free texts that end at U+0000
	Free   string // the paths of texts that may hold U+0000
	Exact  string // finds integers that were kept as floating-point numbers

	Longest     string // finds texts and blobs that were cut, where they are as long as can be
	LongestLeft string // the paths of texts of which Longest finds, too, that an update cut them

	Given string // finds slices, maps and pointers that the caller who made it shares
	Left  string // finds those that an update function shares
	Got   string // finds those that everybody shares who reads it

	// Except holds mistakes that no rule has to find, each with a reason. They are named as
	// in the names of mutants ("forgets DeletedAt"), or all those of a field ("DeletedAt").
	// A star stands for whatever follows.
	Except map[string]string
}

// Mutants returns one for each field and mistake. It panics if an entry of Except is for
// nothing, and if a field is of a kind that no store keeps: a function, a channel, an
// interface, a complex number or a bare address.
func (k Kept[T]) Mutants() []Mutant {
	var all []Mutant
	used := make(map[string]bool)
	for _, f := range fieldsOf(reflect.TypeFor[T](), nil) {
		for _, mistake := range k.mistakes(f) {
			name := mistake.verb + " " + f.path
			if excepted := k.excepted(name, f.path); excepted != "" {
				used[excepted] = true
			} else if mistake.rules != "" {
				all = append(all, Mutant{
					Name: fmt.Sprintf("%s of each %s", name, k.Name), Breaks: strings.Fields(mistake.rules), Make: mistake.make,
				})
			}
		}
	}
	for entry := range k.Except {
		if !used[entry] {
			panic(fmt.Sprintf("mutate: no mistake of a %s is excepted by %q", k.Name, entry))
		}
	}
	return all
}

func (k Kept[T]) excepted(name, path string) string {
	for entry := range k.Except {
		begin, star := strings.CutSuffix(entry, "*")
		if entry == name || entry == path || star && (strings.HasPrefix(name, begin) || strings.HasPrefix(path, begin)) {
			return entry
		}
	}
	return ""
}

// mistake is one that can be made with a field.
type mistake struct {
	verb, rules string
	make        func(methods any)
}

// mistakes returns those that can be made with a field.
func (k Kept[T]) mistakes(f field) []mistake {
	changed := func(verb, rules string, change func(reflect.Value)) mistake {
		return mistake{verb, rules, func(methods any) {
			Out(methods, func(t *T) { f.each(reflect.ValueOf(t).Elem(), change) })
		}}
	}
	switch f.of.Kind() {
	case reflect.Func: // which is for a call, and not kept
		return nil
	case reflect.Chan, reflect.Interface, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		panic(fmt.Sprintf("mutate: %s of a %s is a %v, which no store keeps", f.path, k.Name, f.of))
	}
	all := []mistake{changed("forgets", k.Stored, reflect.Value.SetZero)}
	switch f.of {
	case reflect.TypeFor[time.Time]():
		return append(all,
			changed("cuts to milliseconds", k.Times, onTime(func(t time.Time) time.Time { return t.Truncate(time.Millisecond) })),
			changed("tells in a time zone", k.Times, onTime(func(t time.Time) time.Time { return t.In(time.FixedZone("here", 3600)) })),
			changed("sets to the epoch", k.Unset, onTime(func(t time.Time) time.Time {
				if t.IsZero() {
					t = time.Unix(0, 0).UTC()
				}
				return t
			})))
	case reflect.TypeFor[time.Duration]():
		return append(all, changed("cuts to milliseconds", k.Times, func(v reflect.Value) {
			v.SetInt(v.Int() / int64(time.Millisecond) * int64(time.Millisecond))
		}))
	}
	if k.Longest != "" {
		if n := lengthOf[T](f); n > 0 {
			all = append(all, changed("cuts the longest", k.Longest, cut(n)))
			if slices.Contains(strings.Fields(k.LongestLeft), f.path) {
				all = append(all, mistake{"leaves, cut, the longest", k.Longest, func(methods any) {
					left(methods, func(t *T) { f.each(reflect.ValueOf(t).Elem(), cut(n)) })
				}})
			}
		}
	}
	switch f.of.Kind() {
	case reflect.String:
		all = append(all, changed("composes letters", k.Bytes, func(v reflect.Value) {
			v.SetString(strings.ReplaceAll(v.String(), "e\u0301", "\u00e9"))
		}))
		if slices.Contains(strings.Fields(k.Free), f.path) {
			all = append(all, changed("ends at U+0000", k.Bytes, func(v reflect.Value) {
				before, _, _ := strings.Cut(v.String(), "\x00")
				v.SetString(before)
			}))
		}
	case reflect.Int64:
		all = append(all, changed("keeps as floating point", k.Exact, func(v reflect.Value) { v.SetInt(int64(float64(v.Int()))) }))
	case reflect.Slice:
		if f.of.Elem().Kind() != reflect.Uint8 {
			all = append(all, changed("turns round", k.Stored, reverse))
		}
	case reflect.Pointer:
		all = append(all, changed("sets if it is nil", k.Unset, func(v reflect.Value) {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
		}))
	}
	switch f.of.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		all = append(all,
			mistake{"shares with its maker", k.Given, func(methods any) { k.share(methods, f, Arg[T], Arg[[]T]) }},
			mistake{"shares with the last update", k.Left, func(methods any) { k.share(methods, f, left[T], nil) }},
			mistake{"shares with readers", k.Got, func(methods any) { k.share(methods, f, nil, nil) }})
	}
	return all
}

func onTime(change func(time.Time) time.Time) func(reflect.Value) {
	return func(v reflect.Value) { v.Set(reflect.ValueOf(change(v.Interface().(time.Time)))) }
}

func reverse(v reflect.Value) {
	unshare(v)
	swap := reflect.Swapper(v.Interface())
	for i, j := 0, v.Len()-1; i < j; i, j = i+1, j-1 {
		swap(i, j)
	}
}

// left is Arg for what an update function leaves and returns.
func left[T any](methods any, change func(*T), names ...string) {
	Updates(methods, func(c *Call) {
		c.Go()
		if p := Get[*T](c.In); p != nil && *p != nil {
			change(*p)
		} else if p := Get[T](c.Out); p != nil {
			change(p)
		}
	}, names...)
}

// shared is a field's value that somebody else has too.
type shared struct{ value, then reflect.Value }

// share makes a store that returns, for a field, what it noted, as long as it is right but
// for changes of others. It notes what it gets by one and many or, if they are nil, what it
// returned before.
func (k Kept[T]) share(
	methods any, f field, one func(any, func(*T), ...string), many func(any, func(*[]T), ...string),
) {
	var mu sync.Mutex
	noted := make(map[string]shared)
	places := func(t *T, do func(key string, v reflect.Value)) {
		n := 0
		f.each(reflect.ValueOf(t).Elem(), func(v reflect.Value) {
			do(fmt.Sprint(k.Key(t), "/", n), v)
			n++
		})
	}
	note := func(t *T) {
		mu.Lock()
		defer mu.Unlock()
		given := *t // so that each copies what is in the way of the field, not the field
		places(&given, func(key string, v reflect.Value) { noted[key] = shared{reflect.ValueOf(v.Interface()), deep(v)} })
	}
	if one != nil {
		one(methods, note)
	}
	if many != nil {
		many(methods, func(all *[]T) {
			for i := range *all {
				note(&(*all)[i])
			}
		})
	}
	Out(methods, func(t *T) {
		mu.Lock()
		defer mu.Unlock()
		places(t, func(key string, v reflect.Value) {
			old, ok := noted[key]
			if right := ok && reflect.DeepEqual(old.then.Interface(), v.Interface()); right {
				v.Set(old.value)
			} else if one == nil {
				noted[key] = shared{reflect.ValueOf(v.Interface()), deep(v)}
			}
		})
	})
}

// field is a field of a struct, or of those in it.
type field struct {
	path  string
	of    reflect.Type
	index []int // of fields; what is between them is followed
}

// each calls do with the field's values, one for each struct in the way. What is in the way
// is copied before.
func (f field) each(v reflect.Value, do func(reflect.Value)) {
	step(v, f.index, do)
}

func step(v reflect.Value, index []int, do func(reflect.Value)) {
	if len(index) == 0 {
		do(v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		step(v.Field(index[0]), index[1:], do)
	case reflect.Pointer:
		if unshare(v); !v.IsNil() {
			step(v.Elem(), index, do)
		}
	case reflect.Array, reflect.Slice:
		unshare(v)
		for i := range v.Len() {
			step(v.Index(i), index, do)
		}
	case reflect.Map:
		unshare(v)
		for _, key := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(key))
			step(item, index, do)
			v.SetMapIndex(key, item)
		}
	}
}

// fieldsOf returns the fields of a struct, and of those in it.
func fieldsOf(t reflect.Type, within []reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		inner := structIn(f.Type)
		if inner == nil || inner != f.Type { // a struct is its fields
			all = append(all, field{f.Name, f.Type, []int{i}})
		}
		if inner != nil && !slices.Contains(within, inner) {
			for _, sub := range fieldsOf(inner, append(slices.Clone(within), t)) {
				all = append(all, field{f.Name + "." + sub.path, sub.of, append([]int{i}, sub.index...)})
			}
		}
	}
	return all
}

// structIn returns the struct with exported fields that a value of the type is, points to
// or holds, or nil.
func structIn(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Array, reflect.Slice, reflect.Pointer, reflect.Map:
		return structIn(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				return t
			}
		}
	}
	return nil
}
