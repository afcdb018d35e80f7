// Package audioset names the 527 sound classes of AudioSet, in the order in which models
// that were trained on it give their scores.
package audioset

import (
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// NumClasses is how many classes there are.
const NumClasses = 527

// Classes returns all classes by their AudioSet index: the first is "Speech", the last is
// "Field recording".
func Classes() []sound.Class { return slices.Clone(names[:]) }

// Index returns the AudioSet index of a class, 0 to 526. Names are exact: "Dial tone", and
// not "dial tone". ok is false if AudioSet has no class of this name.
func Index(c sound.Class) (index int, ok bool) {
	at, found := slices.BinarySearchFunc(byName[:], c, func(i int, c sound.Class) int {
		return strings.Compare(string(names[i]), string(c))
	})
	if !found {
		return 0, false
	}
	return byName[at], true
}

// byName has the indexes sorted by name.
var byName = func() (sorted [NumClasses]int) {
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted[:], func(a, b int) int { return strings.Compare(string(names[a]), string(names[b])) })
	return sorted
}()
