package sound

import "github.com/seed-6363c74e/mortise/internal/name"

// Class is a sound class, by its name: "Dog", "Dial tone". "" is none. A [Model] brings
// the classes that it predicts; package audioset has those of AudioSet. A class is 1 to
// 255 bytes of valid UTF-8 without U+0000, and names are the same if every byte is.
type Class string

// Valid reports whether a class may have this name.
func (c Class) Valid() bool { return name.Problem(string(c)) == "" }

// Nearest returns that of some classes which a misspelt name most likely means: "Dog" for
// "dog", "Dial tone" for "dialtone" or "Dail tone". "" says that none is near. It takes
// time in proportion to the number of classes.
func Nearest(misspelt string, classes []Class) Class { return name.Nearest(misspelt, classes) }
