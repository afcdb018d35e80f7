package strictjson

import "bytes"

// The functions of this file walk bytes that Parse has checked.

// stringEnd returns the offset after the string that starts at i.
func stringEnd(data []byte, i int) int {
	for j := i + 1; ; j++ {
		j += bytes.IndexByte(data[j:], '"')
		slashes := 0
		for data[j-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return j + 1
		}
	}
}

// valueEnd returns the offset after the value that starts at i. The value stands
// in a container, so something follows it.
func valueEnd(data []byte, i int) int {
	switch data[i] {
	case '"':
		return stringEnd(data, i)
	case '{', '[':
		return containerEnd(data, i)
	}
	for {
		switch data[i] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return i
		}
		i++
	}
}

func containerEnd(data []byte, i int) int {
	for depth := 0; ; i++ {
		c := data[i]
		if class[c]&isBracket == 0 {
			continue
		}
		switch c {
		case '"':
			i = stringEnd(data, i) - 1
		case '{', '[':
			depth++
		default:
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
}

func (v Value) part(start, end int) Value {
	return Value{raw: v.raw[start:end:end], off: v.off + start}
}

// afterComma returns where the next member or element starts, or where the
// closing bracket stands, given the end of the one before.
func (v Value) afterComma(i int) int {
	i = space(v.raw, i)
	if v.raw[i] == ',' {
		i = space(v.raw, i+1)
	}
	return i
}

func (v Value) walkMembers(yield func(key, member Value) bool) {
	if v.Kind() != Object {
		return
	}
	for i := space(v.raw, 1); v.raw[i] != '}'; {
		end := stringEnd(v.raw, i)
		key := v.part(i, end)
		i = space(v.raw, end)
		i = space(v.raw, i+1)
		end = valueEnd(v.raw, i)
		if !yield(key, v.part(i, end)) {
			return
		}
		i = v.afterComma(end)
	}
}

func (v Value) walkElements(yield func(index int, element Value) bool) {
	if v.Kind() != Array {
		return
	}
	index := 0
	for i := space(v.raw, 1); v.raw[i] != ']'; index++ {
		end := valueEnd(v.raw, i)
		if !yield(index, v.part(i, end)) {
			return
		}
		i = v.afterComma(end)
	}
}
