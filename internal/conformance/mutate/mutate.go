// Package mutate makes mutants of a backend: backends with one mistake, for the proof that
// a conformance suite finds it.
//
// A mutant holds the methods of a faithful backend in a struct of functions, each with the
// name of its method, and calls them there. [Fill] sets them. So a mistake can be made in
// one of them, by a function in its place ([Replace]), or in many of them at once: [Out]
// changes whatever they return, [In] what they are given, [Errors] how they fail, [Around]
// everything. What is changed twice has both mistakes. [Kept] makes the mistakes that a
// store can make with each field of what it keeps. [InTx] makes every call in a
// transaction of a host's.
package mutate

import (
	"context"
	"fmt"
	"reflect"
	"slices"
)

// Fill sets functions in the struct to which methods points to the methods of the backend
// with their names: those that are named, or all. It panics if the backend has no such
// method.
func Fill(methods, backend any, names ...string) {
	fields, from := reflect.ValueOf(methods).Elem(), reflect.ValueOf(backend)
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		method := from.MethodByName(name)
		if !method.IsValid() {
			panic(fmt.Sprintf("mutate: %T has no method %s", backend, name))
		}
		fields.Field(i).Set(method)
	}
}

// Call is a call of a method, or of a function that a method was given.
type Call struct {
	Method  string          // its name
	In, Out []reflect.Value // arguments and results, which can be set; results are zero before Go

	function reflect.Value
}

// Go calls what stands in the method's place otherwise, with In, and sets Out.
func (c *Call) Go() {
	for i, result := range c.function.Call(c.In) {
		c.Out[i].Set(result)
	}
}

// On calls the method of another backend with the same arguments, whatever comes of it.
func (c *Call) On(backend any) { reflect.ValueOf(backend).MethodByName(c.Method).Call(c.In) }

// Get returns the first of the values that is a T, to be read or changed, or nil.
func Get[T any](values []reflect.Value) *T {
	for _, v := range values {
		if p, ok := v.Addr().Interface().(*T); ok {
			return p
		}
	}
	return nil
}

// Err returns the call's error, to be read or changed. Without one it is nil.
func (c *Call) Err() *error { return Get[error](c.Out) }

// Around puts do between the callers and the named methods, or all. If do does not call
// Go, the method is not called.
func Around(methods any, do func(*Call), names ...string) {
	fields := reflect.ValueOf(methods).Elem()
	for _, name := range names {
		if _, ok := fields.Type().FieldByName(name); !ok {
			panic("mutate: no method " + name)
		}
	}
	for i := range fields.NumField() {
		if name := fields.Type().Field(i).Name; len(names) == 0 || slices.Contains(names, name) {
			fields.Field(i).Set(around(name, fields.Field(i), do))
		}
	}
}

func around(name string, field reflect.Value, do func(*Call)) reflect.Value {
	function := reflect.ValueOf(field.Interface()) // field itself is about to change
	return reflect.MakeFunc(function.Type(), func(in []reflect.Value) []reflect.Value {
		c := Call{Method: name, In: make([]reflect.Value, len(in)), Out: make([]reflect.Value, function.Type().NumOut()), function: function}
		for i := range in {
			c.In[i] = reflect.New(function.Type().In(i)).Elem()
			c.In[i].Set(in[i])
		}
		for i := range c.Out {
			c.Out[i] = reflect.New(function.Type().Out(i)).Elem()
		}
		do(&c)
		return c.Out
	})
}

// Out changes each T that the named methods, or all, return without an error, wherever it
// stands in their results.
func Out[T any](methods any, change func(*T), names ...string) {
	Around(methods, func(c *Call) {
		c.Go()
		if err := c.Err(); err != nil && *err != nil {
			return
		}
		for i := range c.Out {
			each(c.Out[i], change)
		}
	}, names...)
}

// In changes each T that the named methods, or all, are given, wherever it stands in their
// arguments and in what update functions leave and return.
func In[T any](methods any, change func(*T), names ...string) {
	Around(methods, func(c *Call) {
		for i := range c.In {
			each(c.In[i], change)
		}
		c.Go()
	}, names...)
	Updates(methods, func(c *Call) {
		c.Go()
		for _, v := range slices.Concat(c.In, c.Out) {
			if v.Kind() == reflect.Pointer && !v.IsNil() {
				v = v.Elem() // which the method has: a copy of it is not enough
			}
			each(v, change)
		}
	}, names...)
}

// Arg changes the first argument that is a T of the named methods, or of all that have one.
func Arg[T any](methods any, change func(*T), names ...string) {
	Around(methods, func(c *Call) {
		if arg := Get[T](c.In); arg != nil {
			change(arg)
		}
		c.Go()
	}, names...)
}

// Errors changes the errors of the named methods, or of all.
func Errors(methods any, change func(error) error, names ...string) {
	Around(methods, func(c *Call) {
		c.Go()
		if err := c.Err(); err != nil && *err != nil {
			*err = change(*err)
		}
	}, names...)
}

// InTx makes each call of all methods in a transaction of a host's of its own, by inTx. It is
// committed whatever the call returns.
func InTx(methods any, inTx func(ctx context.Context, do func(ctx context.Context) error) error) {
	Around(methods, func(c *Call) {
		outside := *Get[context.Context](c.In)
		err := inTx(outside, func(ctx context.Context) error {
			*Get[context.Context](c.In) = ctx
			c.Go()
			return nil
		})
		if failed := c.Err(); err != nil && *failed == nil {
			for _, result := range c.Out {
				result.SetZero()
			}
			*failed = err
		}
	})
}

// Replace puts f in the place of the named method. f takes self, and then what the method
// takes. Replace panics if there is no such method, or f cannot stand in its place.
func Replace(methods any, name string, self, f any) {
	field := reflect.ValueOf(methods).Elem().FieldByName(name)
	if !field.IsValid() {
		panic("mutate: no method " + name)
	}
	of, function, first := field.Type(), reflect.ValueOf(f), reflect.ValueOf(self)
	in, out := []reflect.Type{first.Type()}, []reflect.Type(nil)
	in, out = slices.AppendSeq(in, of.Ins()), slices.AppendSeq(out, of.Outs())
	if want := reflect.FuncOf(in, out, false); function.Type() != want {
		panic(fmt.Sprintf("mutate: in place of %s stands %v, not %v", name, function.Type(), want))
	}
	field.Set(reflect.MakeFunc(of, func(in []reflect.Value) []reflect.Value {
		return function.Call(slices.Concat([]reflect.Value{first}, in))
	}))
}

// Stand makes methods call those of a backend through call, which is given the name of the
// method and what calls it. A method that the backend does not have stays nil. What is
// returned beside an error is zero.
func Stand(methods, backend any, call func(method string, do func() error) error) {
	fields, from := reflect.ValueOf(methods).Elem(), reflect.ValueOf(backend)
	for i := range fields.NumField() {
		method := from.MethodByName(fields.Type().Field(i).Name)
		if !method.IsValid() {
			continue
		}
		fields.Field(i).Set(method)
		fields.Field(i).Set(around(fields.Type().Field(i).Name, fields.Field(i), func(c *Call) {
			err := call(c.Method, func() error {
				c.Go()
				return *c.Err()
			})
			if err != nil {
				for _, result := range c.Out {
					result.SetZero()
				}
			}
			*c.Err() = err
		}))
	}
}
