package strictjson

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the type of a JSON value.
type Kind uint8

// The kinds. Invalid is the kind of the zero Value only.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Value is one value of a document that Parse has accepted. A method that does
// not fit the value's Kind returns the zero result and never panics.
type Value struct {
	raw []byte
	off int
}

// Kind returns what the value is.
func (v Value) Kind() Kind {
	if len(v.raw) == 0 {
		return Invalid
	}
	switch v.raw[0] {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	}
	return Number
}

// Raw returns the value's bytes as written, without surrounding space. They
// alias the document.
func (v Value) Raw() []byte { return v.raw }

// Offset returns where the value starts, in bytes from the document's start.
func (v Value) Offset() int { return v.off }

// Bool returns whether the value is true.
func (v Value) Bool() bool { return v.Kind() == Bool && v.raw[0] == 't' }

// text returns the bytes between a string's quotes.
func (v Value) text() []byte {
	if v.Kind() != String {
		return nil
	}
	return v.raw[1 : len(v.raw)-1]
}

// Text returns the decoded string, or "" for other kinds. It is valid UTF-8, may
// hold U+0000, and does not alias the document. It allocates at most once, no
// more than the text needs.
func (v Value) Text() string {
	text := v.text()
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	size := 0
	for rest := text; len(rest) > 0; {
		var plain []byte
		var r rune
		plain, r, rest = piece(rest)
		size += len(plain)
		if r >= 0 {
			size += utf8.RuneLen(r)
		}
	}
	var b strings.Builder
	b.Grow(size)
	for len(text) > 0 {
		var plain []byte
		var r rune
		plain, r, text = piece(text)
		b.Write(plain)
		if r >= 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// AppendText appends the decoded string to dst, nothing for other kinds.
func (v Value) AppendText(dst []byte) []byte {
	for text := v.text(); len(text) > 0; {
		var plain []byte
		var r rune
		plain, r, text = piece(text)
		dst = append(dst, plain...)
		if r >= 0 {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// TextLen returns the length of the decoded string in code points, 0 for other
// kinds. It allocates nothing.
func (v Value) TextLen() int {
	n := 0
	for text := v.text(); len(text) > 0; {
		var plain []byte
		var r rune
		plain, r, text = piece(text)
		n += utf8.RuneCount(plain)
		if r >= 0 {
			n++
		}
	}
	return n
}

// Equal reports whether the value is a string that decodes to s. It allocates
// nothing.
func (v Value) Equal(s string) bool {
	if v.Kind() != String {
		return false
	}
	text := v.text()
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text) == s
	}
	var buf [utf8.UTFMax]byte
	for len(text) > 0 {
		var plain []byte
		var r rune
		plain, r, text = piece(text)
		if len(s) < len(plain) || s[:len(plain)] != string(plain) {
			return false
		}
		s = s[len(plain):]
		if r < 0 {
			continue
		}
		size := utf8.EncodeRune(buf[:], r)
		if len(s) < size || s[:size] != string(buf[:size]) {
			return false
		}
		s = s[size:]
	}
	return s == ""
}

// Members iterates over an object's keys, which are String values, and their
// values, in input order. It skips over each value's bytes, so that walking a
// document to its leaves takes time proportional to its length and its depth.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(key, member Value) bool) { v.walkMembers(yield) }
}

// Elements iterates over an array's indexes and elements, in order; for its cost
// see Members.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(index int, element Value) bool) { v.walkElements(yield) }
}

// Get returns the member whose decoded key is exactly key. It looks at the
// members in order, so a caller that wants many of them had better iterate.
func (v Value) Get(key string) (Value, bool) {
	for k, member := range v.Members() {
		if k.Equal(key) {
			return member, true
		}
	}
	return Value{}, false
}

// IsInteger reports whether the value is a number written without a fraction or
// an exponent. It says nothing about size: 1e2 and 1.0 are no integers, a number
// of 5000 digits is one.
func (v Value) IsInteger() bool {
	return v.Kind() == Number && !bytes.ContainsAny(v.raw, ".eE")
}

// Int64 returns an integer's value. ok is false for other kinds, for numbers that
// are no integers in the sense of IsInteger, and out of range. -0 is 0. The work
// does not depend on the number's length.
func (v Value) Int64() (n int64, ok bool) {
	// The grammar allows no leading zeros, so more bytes are out of range.
	if len(v.raw) > len("-9223372036854775808") || !v.IsInteger() {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}
