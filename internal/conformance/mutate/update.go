package mutate

import (
	"reflect"
	"slices"
)

// isUpdate reports whether a function is an update function: one that is given what it may
// change and returns an error.
func isUpdate(t reflect.Type) bool {
	return t.Kind() == reflect.Func && t.NumIn() == 1 && t.NumOut() > 0 && t.Out(t.NumOut()-1) == reflect.TypeFor[error]() &&
		(t.In(0).Kind() == reflect.Pointer || t.NumOut() > 1)
}

// update returns the update function that the method was given. It panics if there is none.
func (c *Call) update() reflect.Value {
	i := slices.IndexFunc(c.In, func(v reflect.Value) bool { return isUpdate(v.Type()) })
	if i < 0 {
		panic("mutate: " + c.Method + " has no update function")
	}
	return c.In[i]
}

// Update calls the update function that the method was given, with something empty.
func (c *Call) Update() {
	f := c.update()
	if of := f.Type().In(0); of.Kind() == reflect.Pointer {
		f.Call([]reflect.Value{reflect.New(of.Elem())})
	} else {
		f.Call([]reflect.Value{reflect.Zero(of)})
	}
}

// Updates puts do between the named methods, or all, and the update functions that they
// are given.
func Updates(methods any, do func(*Call), names ...string) {
	Around(methods, func(c *Call) {
		for i := range c.In {
			if isUpdate(c.In[i].Type()) {
				c.In[i].Set(around(c.Method, c.In[i], do))
			}
		}
		c.Go()
	}, names...)
}

// Late makes the named methods lose updates: they read what is there, call the update
// function with a copy, and write what it leaves after a pause.
func Late(methods any, pause func(), names ...string) {
	Around(methods, func(c *Call) {
		arg := c.update()
		update, t := reflect.ValueOf(arg.Interface()), arg.Type()
		own := reflect.New(t.In(0).Elem())
		results := make([]reflect.Value, t.NumOut())
		for i := range results {
			results[i] = reflect.Zero(t.Out(i))
		}
		arg.Set(reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value {
			own.Elem().Set(deep(in[0].Elem()))
			return results
		}))
		if c.Go(); *c.Err() != nil {
			return
		}
		results = update.Call([]reflect.Value{own})
		if err, refused := results[len(results)-1].Interface().(error); refused {
			*c.Err() = err
			return
		}
		pause()
		arg.Set(reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value {
			in[0].Elem().Set(own.Elem())
			return results
		}))
		c.Go()
	}, names...)
}
