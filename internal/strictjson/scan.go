package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// classes of bytes
const (
	isSpace  = 1 << iota
	isDigit  // 0 to 9
	isPlain  // stands for itself in a string: ASCII without quote, backslash, control
	isEscape // may follow a backslash, alone
	isBracket
)

var class = func() (table [256]uint8) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		table[c] |= isPlain
	}
	for _, c := range []byte(`"\`) {
		table[c] &^= isPlain
	}
	for _, set := range []struct {
		bytes string
		bit   uint8
	}{{" \t\r\n", isSpace}, {"0123456789", isDigit}, {`"\/bfnrt`, isEscape}, {"[]{}\"", isBracket}} {
		for _, c := range []byte(set.bytes) {
			table[c] |= set.bit
		}
	}
	return table
}()

func space(data []byte, i int) int {
	for i < len(data) && class[data[i]]&isSpace != 0 {
		i++
	}
	return i
}

func digits(data []byte, i int) int {
	for i < len(data) && class[data[i]]&isDigit != 0 {
		i++
	}
	return i
}

// numberEnd returns the end of the longest number that starts at i, or i if
// there is none. What follows a number is for the caller to refuse.
func numberEnd(data []byte, i int) int {
	start := i
	if data[i] == '-' {
		i++
	}
	switch whole := digits(data, i); {
	case whole == i:
		return start
	case data[i] == '0':
		i++
	default:
		i = whole
	}
	if i < len(data) && data[i] == '.' {
		if end := digits(data, i+1); end > i+1 {
			i = end
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		j := i + 1
		if j < len(data) && (data[j] == '+' || data[j] == '-') {
			j++
		}
		if end := digits(data, j); end > j {
			i = end
		}
	}
	return i
}

// text reads the string whose opening quote stands at start.
func (s *scanner) text(start int) (end int, escaped bool) {
	data := s.data
	for i := start + 1; ; {
		i = plainEnd(data, i)
		if i == len(data) {
			return s.fail(start, reasonUnterminated), escaped
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i = s.escape(start, i); i < 0 {
				return failed, escaped
			}
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return s.fail(i, reasonUTF8), escaped
			}
			i += size
		default:
			return s.fail(i, reasonControl), escaped
		}
	}
}

// escape reads the escape at i in the string that starts at start.
func (s *scanner) escape(start, i int) int {
	data := s.data
	if i+1 == len(data) {
		return s.fail(start, reasonUnterminated)
	}
	if class[data[i+1]]&isEscape != 0 {
		return i + 2
	}
	if data[i+1] != 'u' {
		return s.fail(i, reasonEscape)
	}
	// An escape that ends with the document is bad in itself: Python looks for
	// one more byte, and its offset is the one to give.
	if i+6 >= len(data) {
		return s.fail(i+1, reasonUnicode)
	}
	r, ok := hex4(data[i+2:])
	if !ok {
		return s.fail(i+1, reasonUnicode)
	}
	if r < 0xd800 || r > 0xdfff {
		return i + 6
	}
	if r < 0xdc00 && lowAt(data[i+6:]) > 0 {
		if i+12 == len(data) {
			return s.fail(i+7, reasonUnicode)
		}
		return i + 12
	}
	s.refuse(i, reasonSurrogate)
	return i + 6
}

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// plainEnd returns the first offset from i on whose byte is not plain.
func plainEnd(data []byte, i int) int {
	for i+8 <= len(data) {
		// A byte's high bit ends up set if the byte is not plain. Borrows can
		// set it wrongly too, but only above a byte that is not plain.
		x := binary.LittleEndian.Uint64(data[i:])
		special := (x | (x - ' '*ones) | ((x ^ '"'*ones) - ones) | ((x ^ '\\'*ones) - ones)) & highs
		if special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
		i += 8
	}
	for i < len(data) && class[data[i]]&isPlain != 0 {
		i++
	}
	return i
}
