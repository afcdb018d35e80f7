package audiosearch

import (
	"fmt"
	"slices"
	"strings"
)

// NumClasses is how many sound classes there are: those of AudioSet that models predict.
const NumClasses = 527

// Class is a sound class, by its AudioSet index: 0 is "Speech", 526 is "Field recording". It is the index of the class in the output of
// models trained on AudioSet, such as the Audio Spectrogram Transformer. In JSON and other text it is its name.
type Class uint16

// ParseClass returns the class of a name. Names are exact: "Dial tone", and not "dial tone". Otherwise the error is [ErrUnknownClass].
func ParseClass(name string) (Class, error) {
	i, found := slices.BinarySearchFunc(classesByName[:], name, func(c Class, name string) int {
		return strings.Compare(classNames[c], name)
	})
	if !found {
		return 0, fmt.Errorf("%w: %.100q", ErrUnknownClass, name)
	}
	return classesByName[i], nil
}

// Classes returns all classes in AudioSet order.
func Classes() []Class {
	all := make([]Class, NumClasses)
	for i := range all {
		all[i] = Class(i)
	}
	return all
}

// Valid reports whether there is such a class.
func (c Class) Valid() bool { return c < NumClasses }

// String returns the name, or "Class(n)" if there is no such class.
func (c Class) String() string {
	if !c.Valid() {
		return fmt.Sprintf("Class(%d)", uint16(c))
	}
	return classNames[c]
}

// MarshalText returns the name.
func (c Class) MarshalText() ([]byte, error) {
	if !c.Valid() {
		return nil, fmt.Errorf("%w: index %d", ErrUnknownClass, uint16(c))
	}
	return []byte(classNames[c]), nil
}

// UnmarshalText is ParseClass.
func (c *Class) UnmarshalText(text []byte) (err error) {
	*c, err = ParseClass(string(text))
	return err
}

// classesByName is sorted by name.
var classesByName = func() (sorted [NumClasses]Class) {
	for i := range sorted {
		sorted[i] = Class(i)
	}
	slices.SortFunc(sorted[:], func(a, b Class) int { return strings.Compare(classNames[a], classNames[b]) })
	return sorted
}()
