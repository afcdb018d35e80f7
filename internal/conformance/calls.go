package conformance

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Call is one method of a backend, called so that it would succeed if nothing were wrong,
// and could be called again.
type Call struct {
	Name string
	Do   func(ctx context.Context) error
}

// CallOf calls a method with a context and the arguments, and returns its error. As in a
// call that is written out, nil stands for a zero pointer, function or slice, and numbers
// and strings are converted as constants are. The call panics if the method cannot take the
// arguments.
func CallOf(name string, method any, args ...any) Call {
	return Call{name, func(ctx context.Context) error { return Invoke(ctx, method, args...) }}
}

// Invoke makes the call of [CallOf].
func Invoke(ctx context.Context, method any, args ...any) error {
	f := reflect.ValueOf(method)
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for i, arg := range args {
		in = append(in, argument(arg, f.Type().In(i+1)))
	}
	out := f.Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}

func argument(arg any, of reflect.Type) reflect.Value {
	v := reflect.ValueOf(arg)
	switch {
	case arg == nil:
		return reflect.Zero(of)
	case v.Type().AssignableTo(of):
		return v
	case v.CanInt() && reflect.Zero(of).CanInt(), v.Kind() == reflect.String && of.Kind() == reflect.String:
		return v.Convert(of) // as a constant
	}
	panic(fmt.Sprintf("conformance: %v in place of %v", v.Type(), of))
}

// AllFail makes the calls and requires that each is a failure, as isFailure says.
func AllFail(ctx context.Context, t *testing.T, calls []Call, isFailure func(t *testing.T, call string, err error)) {
	t.Helper()
	for _, c := range calls {
		isFailure(t, c.Name, c.Do(ctx))
	}
}

// AllWork makes the calls and requires that none fails.
func AllWork(t *testing.T, calls []Call) {
	t.Helper()
	for _, c := range calls {
		require.NoError(t, c.Do(t.Context()), c.Name)
	}
}

// IsFailure requires an error that callers take for "unavailable": none of the sentinels.
func IsFailure(t *testing.T, call string, err error, sentinels []error) {
	t.Helper()
	require.Error(t, err, call)
	for _, sentinel := range sentinels {
		require.NotErrorIs(t, err, sentinel, call)
	}
}
