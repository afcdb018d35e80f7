package mortise

import (
	"slices"
	"strconv"
)

// Path says where in a request or another argument something is: the names of fields and
// the positions in lists that lead there, the outermost first. The Problems of all
// domains have one. Nil is the argument as a whole.
type Path []Step

// Step leads to a field, or to an item of a list.
type Step struct {
	Field string // its name; "" for an item
	Index int    // of the item, from 0
}

// Field returns the path of a field of what p leads to.
func (p Path) Field(name string) Path { return append(slices.Clip(p), Step{Field: name}) }

// Item returns the path of an item of the list that p leads to. The first one is 0.
func (p Path) Item(index int) Path { return append(slices.Clip(p), Step{Index: index}) }

// String returns the path as text for people: "limit", "tables[0].columns[2].format".
func (p Path) String() string {
	if len(p) == 1 && p[0].Field != "" {
		return p[0].Field
	}
	var b []byte
	for _, s := range p {
		switch {
		case s.Field == "":
			b = append(strconv.AppendInt(append(b, '['), int64(s.Index), 10), ']')
		case len(b) == 0:
			b = append(b, s.Field...)
		default:
			b = append(append(b, '.'), s.Field...)
		}
	}
	return string(b)
}
