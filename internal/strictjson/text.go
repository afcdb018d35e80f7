package strictjson

import (
	"bytes"
	"unicode/utf8"
)

// The functions of this file read the text of a string that Parse has read: the
// bytes between its quotes. A surrogate without its partner decodes to U+FFFD;
// it is met only on the way to the document's refusal.

// piece cuts text after its first escape: the bytes before the escape, the code
// point that it stands for, and the rest. Without an escape r is -1.
func piece(text []byte) (plain []byte, r rune, rest []byte) {
	i := bytes.IndexByte(text, '\\')
	if i < 0 {
		return text, -1, nil
	}
	r, size := unescape(text[i:])
	return text[:i], r, text[i+size:]
}

// unescape decodes the escape at the start of b and returns its length.
func unescape(b []byte) (r rune, size int) {
	switch b[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(b[1]), 2
	}
	r, _ = hex4(b[2:])
	if r < 0xd800 || r > 0xdfff {
		return r, 6
	}
	if r < 0xdc00 {
		if low := lowAt(b[6:]); low > 0 {
			return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), 12
		}
	}
	return utf8.RuneError, 6
}

// lowAt returns the low surrogate that is escaped at the start of b, or 0.
func lowAt(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	if r, ok := hex4(b[2:]); ok && r >= 0xdc00 && r <= 0xdfff {
		return r
	}
	return 0
}

// hex4 reads the four hexadecimal digits at the start of b.
func hex4(b []byte) (r rune, ok bool) {
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// sameText reports whether two texts are equal after decoding.
func sameText(a, b []byte) bool {
	for len(a) > 0 && len(b) > 0 {
		ra, na := firstRune(a)
		rb, nb := firstRune(b)
		if ra != rb {
			return false
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) == len(b)
}

func firstRune(text []byte) (rune, int) {
	if text[0] == '\\' {
		return unescape(text)
	}
	return utf8.DecodeRune(text)
}
