// Package decimal reads and compares numbers as filters of metadata do: exactly.
package decimal

import (
	"cmp"
	"strconv"
	"strings"
)

// The bounds of numbers. Package metadata has them in its documentation.
const (
	maxLength   = 64  // characters
	maxExponent = 400 // of ten, as written, either sign
)

// Decimal is a number of any precision: 9007199254740993 is more than 9007199254740992,
// and 1.50 equals 15e-1.
type Decimal struct {
	approx   float64 // the nearest float64: decides whenever it differs
	negative bool
	digits   string // without zeros at either end; "" is zero
	point    int    // the value is 0.digits times ten to the power of point
}

// Parse returns the number that a text is by the grammar of JSON (RFC 8259, section 6),
// and false if it is none or out of bounds.
func Parse(text string) (Decimal, bool) {
	if len(text) > maxLength {
		return Decimal{}, false
	}
	rest, negative := strings.CutPrefix(text, "-")
	whole, rest := cutDigits(rest)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return Decimal{}, false
	}
	var fraction string
	if after, found := strings.CutPrefix(rest, "."); found {
		if fraction, rest = cutDigits(after); fraction == "" {
			return Decimal{}, false
		}
	}
	exponent := 0
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return Decimal{}, false
		}
		sign := 1
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			if rest[0] == '-' {
				sign = -1
			}
			rest = rest[1:]
		}
		digits, end := cutDigits(rest)
		if digits == "" || end != "" {
			return Decimal{}, false
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n > maxExponent {
			return Decimal{}, false
		}
		exponent = sign * n
	}
	d := Decimal{negative: negative, digits: whole + fraction, point: len(whole) + exponent}
	trimmed := strings.TrimLeft(d.digits, "0")
	d.point -= len(d.digits) - len(trimmed)
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return Decimal{}, true // there is one zero, whatever its sign and exponent
	}
	d.approx, _ = strconv.ParseFloat(text, 64) // out of range is an infinity, which compares as it should
	return d, true
}

func cutDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// Compare returns -1, 0 or 1 as d is less than, equal to or more than other.
func (d Decimal) Compare(other Decimal) int {
	// The nearest float64 of a greater number is never less, so only equal ones leave a
	// question.
	if d.approx != other.approx {
		return cmp.Compare(d.approx, other.approx)
	}
	if d.digits == "" || other.digits == "" || d.negative != other.negative {
		return cmp.Compare(d.sign(), other.sign())
	}
	order := cmp.Or(cmp.Compare(d.point, other.point), cmp.Compare(d.digits, other.digits))
	if d.negative {
		return -order
	}
	return order
}

// Approx returns the nearest float64. That of a greater number is never less.
func (d Decimal) Approx() float64 { return d.approx }

func (d Decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}
