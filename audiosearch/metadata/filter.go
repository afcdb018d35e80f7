package metadata

import (
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/decimal"
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

// MaxFilterBytes bounds the key of a filter, and its value. A service refuses longer ones.
const MaxFilterBytes = 4 << 10

// Filter lets a video pass whose metadata has a value under Key that compares to Value as
// Op says. A video without the key, or with null there, does not pass, whatever the
// operator: != included.
//
// The operators = != and contains compare text, byte by byte: that of a string, or what is
// written in JSON (3, 3.0 and true are "3", "3.0" and "true"). The others compare numbers,
// exactly: 9007199254740993 is more than 9007199254740992, and 1.50 equals 15e-1. For
// them, Value must be a number by the grammar of JSON (RFC 8259, section 6), with 64
// characters at most and an exponent of -400 to 400. So must the value of the video, which
// may be a string that reads so. Any other does not pass.
type Filter struct {
	Key   string
	Value string
	Op    Op // "" is "="
}

// Check returns an error if there is no such operator, or if it compares numbers and Value
// is none. It does not look at the length of Key and Value: see [MaxFilterBytes].
func (f Filter) Check() error {
	_, err := f.number()
	return err
}

// number checks the filter, and returns Value as a number if that is what is compared.
func (f Filter) number() (n decimal.Decimal, err error) {
	switch f.Op {
	case "", OpEqual, OpNotEqual, OpContains:
	case OpGreater, OpLess, OpGreaterOrEqual, OpLessOrEqual:
		var ok bool
		if n, ok = decimal.Parse(f.Value); !ok {
			return n, fmt.Errorf("audiosearch: the value of the filter must be a number: the operator is %s", f.Op)
		}
	default:
		return n, fmt.Errorf("audiosearch: unknown operator %q", f.Op)
	}
	return n, nil
}

// Predicate returns a function that takes the value that a video has under Key, and reports
// whether the video passes. It is safe for concurrent use. The error is that of Check.
func (f Filter) Predicate() (func(Scalar) bool, error) {
	n, err := f.number()
	if err != nil {
		return nil, err
	}
	return func(s Scalar) bool {
		if s.kind == KindNull {
			return false
		}
		switch f.Op {
		case "", OpEqual:
			return s.text == f.Value
		case OpNotEqual:
			return s.text != f.Value
		case OpContains:
			return strings.Contains(s.text, f.Value)
		}
		d, ok := decimal.Parse(s.text)
		if !ok {
			return false
		}
		switch order := d.Compare(n); f.Op {
		case OpGreater:
			return order > 0
		case OpLess:
			return order < 0
		case OpGreaterOrEqual:
			return order >= 0
		default:
			return order <= 0
		}
	}, nil
}
