// Package setting fills in the settings that a host left at zero, and refuses those that
// make no sense. The rule is one for all Options of the library: 0 is the default, and a
// number below 0 is an error, unless the setting says that it means none.
package setting

import (
	"fmt"
	"strings"
	"time"
)

// Number is the type of a setting.
type Number interface {
	int | int64 | time.Duration
}

// Default sets v to its default if it is 0.
func Default[T Number](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}

// DefaultOrNone sets v to its default if it is 0, and to 0, which is none, if it is
// below.
func DefaultOrNone[T Number](v *T, value T) {
	switch {
	case *v == 0:
		*v = value
	case *v < 0:
		*v = 0
	}
}

// Named is a setting with its name.
type Named struct {
	name  string
	below bool
}

// Of names a setting.
func Of[T Number](name string, v T) Named { return Named{name, v < 0} }

// Check returns an error that names the settings below 0. The struct that they are fields
// of is named as in "trigger: Options".
func Check(of string, settings ...Named) error {
	var wrong []string
	for _, s := range settings {
		if s.below {
			wrong = append(wrong, s.name)
		}
	}
	switch len(wrong) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s.%s is below 0; 0 means the default", of, wrong[0])
	}
	return fmt.Errorf("%s: these are below 0, and 0 means the default: %s", of, strings.Join(wrong, ", "))
}
