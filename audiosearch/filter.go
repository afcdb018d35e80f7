package audiosearch

import (
	"errors"
	"fmt"
	"strings"
)

// Op is how a [Filter] compares.
type Op string

// The operators.
const (
	OpEqual          Op = "="
	OpNotEqual       Op = "!="
	OpContains       Op = "contains"
	OpGreater        Op = ">"
	OpLess           Op = "<"
	OpGreaterOrEqual Op = ">="
	OpLessOrEqual    Op = "<="
)

// Ops returns all operators.
func Ops() []Op {
	return []Op{OpEqual, OpNotEqual, OpContains, OpGreater, OpLess, OpGreaterOrEqual, OpLessOrEqual}
}

// Numeric reports whether the operator compares numbers.
func (op Op) Numeric() bool {
	switch op {
	case OpGreater, OpLess, OpGreaterOrEqual, OpLessOrEqual:
		return true
	}
	return false
}

// MaxFilterBytes bounds the key and the value of a filter, in bytes, for [Service.Search]
// and [Service.Start].
const MaxFilterBytes = 4 << 10

// Filter lets a video pass whose metadata has a value under Key that compares to Value as Op says. A video without the key, or with null
// there, does not pass, whatever the operator: != included.
//
// The operators = != and contains compare text, byte by byte: that of a string, or what is written in JSON (3, 3.0 and true are "3", "3.0" and
// "true"). The others compare numbers, exactly: Value must be one by [ParseDecimal], and values of videos that are none do not pass.
type Filter struct {
	Key   string
	Value string
	Op    Op // "" is "="
}

// Predicate is a Filter that is ready to be asked. A store asks it once for each distinct value of a key, not for each video.
type Predicate struct {
	op     Op
	text   string
	number Decimal
}

var errNotANumber = errors.New("audiosearch: the value of the filter must be a number")

// Predicate checks the filter and prepares it.
func (f Filter) Predicate() (Predicate, error) {
	p := Predicate{op: f.Op, text: f.Value}
	switch f.Op {
	case "":
		p.op = OpEqual
	case OpEqual, OpNotEqual, OpContains:
	case OpGreater, OpLess, OpGreaterOrEqual, OpLessOrEqual:
		var ok bool
		if p.number, ok = ParseDecimal(f.Value); !ok {
			return Predicate{}, fmt.Errorf("%w: the operator is %s", errNotANumber, f.Op)
		}
	default:
		return Predicate{}, fmt.Errorf("audiosearch: unknown operator %q", f.Op)
	}
	return p, nil
}

// Match reports whether a video with this value passes.
func (p Predicate) Match(s Scalar) bool {
	if s.kind == ScalarNull {
		return false
	}
	if p.op.Numeric() {
		d, ok := s.Decimal()
		return ok && p.MatchDecimal(d)
	}
	return p.MatchText(s.text)
}

// Numeric reports whether the predicate compares numbers: then ask MatchDecimal, else MatchText.
func (p Predicate) Numeric() bool { return p.op.Numeric() }

// Equal returns the only text that passes, and true, if there is only one.
func (p Predicate) Equal() (text string, only bool) { return p.text, p.op == OpEqual }

// MatchText is Match for the text of a value that is not null.
func (p Predicate) MatchText(text string) bool {
	switch p.op {
	case OpEqual:
		return text == p.text
	case OpNotEqual:
		return text != p.text
	case OpContains:
		return strings.Contains(text, p.text)
	}
	return false
}

// MatchDecimal is Match for a value that was read as a number before.
func (p Predicate) MatchDecimal(d Decimal) bool {
	order := d.Compare(p.number)
	switch p.op {
	case OpGreater:
		return order > 0
	case OpLess:
		return order < 0
	case OpGreaterOrEqual:
		return order >= 0
	case OpLessOrEqual:
		return order <= 0
	}
	return false
}
