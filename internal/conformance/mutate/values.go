package mutate

import (
	"reflect"
	"sync"
)

// each calls change with each T in a value. What the value shares with others is copied
// before.
func each[T any](v reflect.Value, change func(*T)) {
	if t := reflect.TypeFor[T](); holds(v.Type(), t) {
		every(v, t, func(v reflect.Value) { change(v.Addr().Interface().(*T)) })
	}
}

func every(v reflect.Value, t reflect.Type, change func(reflect.Value)) {
	if v.Type() == t {
		change(v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && holds(v.Type().Field(i).Type, t) {
				every(v.Field(i), t, change)
			}
		}
	case reflect.Array, reflect.Slice:
		unshare(v)
		for i := range v.Len() {
			every(v.Index(i), t, change)
		}
	case reflect.Pointer:
		if unshare(v); !v.IsNil() {
			every(v.Elem(), t, change)
		}
	case reflect.Map:
		unshare(v)
		for _, key := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(key))
			every(item, t, change)
			v.SetMapIndex(key, item)
		}
	}
}

// unshare sets a slice, map or pointer to a copy of it. What is in it is not copied.
func unshare(v reflect.Value) {
	if v.Kind() != reflect.Array && !v.IsNil() {
		v.Set(shallow(v))
	}
}

func shallow(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Slice:
		items := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(items, v)
		return items
	case reflect.Map:
		items := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, key := range v.MapKeys() {
			items.SetMapIndex(key, v.MapIndex(key))
		}
		return items
	default:
		item := reflect.New(v.Type().Elem())
		item.Elem().Set(v.Elem())
		return item
	}
}

// deep returns a copy of a slice, map or pointer that shares nothing with it, but for what
// is in fields that are not exported.
func deep(v reflect.Value) reflect.Value {
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	copyIn(own)
	return own
}

func copyIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		if v.IsNil() {
			return
		}
		unshare(v)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				copyIn(v.Field(i))
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			copyIn(v.Index(i))
		}
	case reflect.Pointer:
		copyIn(v.Elem())
	case reflect.Map:
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, deep(v.MapIndex(key)))
		}
	}
}

// known holds what holds has found out.
var known sync.Map

// holds reports whether each finds values of type t in those of another type.
func holds(in, t reflect.Type) bool {
	type pair struct{ in, t reflect.Type }
	if found, ok := known.Load(pair{in, t}); ok {
		return found.(bool)
	}
	found := search(in, t, make(map[reflect.Type]bool))
	known.Store(pair{in, t}, found)
	return found
}

func search(in, t reflect.Type, seen map[reflect.Type]bool) bool {
	if in == t {
		return true
	}
	if seen[in] {
		return false
	}
	seen[in] = true
	switch in.Kind() {
	case reflect.Array, reflect.Slice, reflect.Pointer, reflect.Map:
		return search(in.Elem(), t, seen)
	case reflect.Struct:
		for i := range in.NumField() {
			if in.Field(i).IsExported() && search(in.Field(i).Type, t, seen) {
				return true
			}
		}
	}
	return false
}
