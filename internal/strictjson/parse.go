package strictjson

import (
	"bytes"
	"math"
)

// DefaultDepth is the nesting that Parse allows when it is given no bound.
const DefaultDepth = 512

// maxLength leaves one bit of an uint32 offset free; see firstKey.
const maxLength = math.MaxInt32

// Parse checks all of data and returns its root value, which aliases data.
// An array or an object counts one level of depth, so a scalar has depth 0;
// maxDepth <= 0 means DefaultDepth. The error is an *Error.
//
// Time is n log n in the worst case, linear for all but objects with many
// keys. Memory beyond data is less than 4 bytes per byte of data. It is none
// down to a depth of 512, if the objects that are open at one time have no more
// than 32 keys so far.
func Parse(data []byte, maxDepth int) (Value, error) {
	if len(data) > maxLength {
		return Value{}, &Error{Offset: maxLength, Reason: reasonLong}
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return Value{}, &Error{Reason: ByteOrderMark, Syntax: true}
	}
	if maxDepth <= 0 {
		maxDepth = DefaultDepth
	}
	s := scanner{data: data, maxDepth: maxDepth}

	start := space(data, 0)
	end := s.run(start)
	s.returnKeys()
	if end >= 0 {
		if i := space(data, end); i < len(data) {
			s.fail(i, reasonExtra)
		}
	}
	if s.fault.Reason != "" {
		// A copy, so that the scanner stays on the stack of a good document.
		fault := s.fault
		return Value{}, &fault
	}
	return Value{raw: data[start:end:end], off: start}, nil
}

// scanner holds the state of one pass. Its functions that take an offset return
// the offset after what they read, or failed, with the reason in fault.
type scanner struct {
	data     []byte
	maxDepth int
	depth    int
	inObject bool // what the innermost open container is
	// firstDue is true from an opening brace to the object's first key.
	firstDue bool
	// doomed is true once the document cannot be well-formed any more, so that
	// repeated keys do not matter; see growKeys.
	doomed bool
	fault  Error

	// A bit for each open container, 1 for an object: the outer levels, then the
	// others.
	kinds     [DefaultDepth / 64]uint64
	moreKinds []uint64

	// The keys of the open objects; see addKey. If moreKeys is not nil it has
	// taken over from keys. A slice of keys would move the scanner to the heap.
	keys     [32]uint64
	moreKeys []uint64
	keyCount int
}

const failed = -1

// fail refuses a malformed document.
func (s *scanner) fail(offset int, reason string) int {
	s.fault = Error{Offset: offset, Reason: reason, Syntax: true}
	return failed
}

// refuse notes a fault of a well-formed document. The pass goes on, since the
// document may still turn out to be malformed, or to have an earlier fault: a
// large object is searched for repeated keys only when it closes.
func (s *scanner) refuse(offset int, reason string) {
	if s.fault.Reason == "" || offset < s.fault.Offset {
		s.fault = Error{Offset: offset, Reason: reason}
	}
}

// run checks the value that starts at i, with all that is in it.
func (s *scanner) run(i int) int {
	data := s.data
	for {
		if s.inObject {
			if i = s.key(i); i < 0 {
				return failed
			}
		}
		depth := s.depth
		if i = s.value(i); i < 0 {
			return failed
		}
		if s.depth > depth {
			i = space(data, i)
			if i == len(data) || data[i] != s.closer() {
				continue
			}
			s.pop()
			i++
		}
		for {
			if s.depth == 0 {
				return i
			}
			i = space(data, i)
			if i == len(data) {
				return s.fail(i, reasonComma)
			}
			c := data[i]
			if c == ',' {
				i = space(data, i+1)
				break
			}
			if c != s.closer() {
				return s.fail(i, reasonComma)
			}
			s.pop()
			i++
		}
	}
}

// value reads a scalar, or only the opening bracket of a container.
func (s *scanner) value(i int) int {
	if i == len(s.data) {
		return s.fail(i, reasonValue)
	}
	switch s.data[i] {
	case '"':
		end, _ := s.text(i)
		return end
	case '{':
		return s.push(i, true)
	case '[':
		return s.push(i, false)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if end := numberEnd(s.data, i); end > i {
			return end
		}
	}
	return s.fail(i, reasonValue)
}

func (s *scanner) literal(i int, word string) int {
	end := i + len(word)
	if end > len(s.data) || string(s.data[i:end]) != word {
		return s.fail(i, reasonValue)
	}
	return end
}

// key reads a key and its colon, up to the start of the member's value.
func (s *scanner) key(i int) int {
	if i == len(s.data) || s.data[i] != '"' {
		return s.fail(i, reasonName)
	}
	end, escaped := s.text(i)
	if end < 0 {
		return failed
	}
	s.addKey(i, hashKey(s.data[i+1:end-1], escaped))
	i = space(s.data, end)
	if i == len(s.data) || s.data[i] != ':' {
		return s.fail(i, reasonColon)
	}
	return space(s.data, i+1)
}

func (s *scanner) push(i int, object bool) int {
	if s.depth == s.maxDepth {
		s.fault = Error{Offset: i, Reason: reasonDeep}
		return failed
	}
	if s.depth/64 == len(s.kinds)+len(s.moreKinds) {
		s.moreKinds = append(s.moreKinds, 0)
	}
	word, bit := s.kindBit(s.depth)
	if object {
		*word |= bit
	} else {
		*word &^= bit
	}
	s.depth++
	s.inObject, s.firstDue = object, object
	return i + 1
}

func (s *scanner) pop() {
	if s.inObject && !s.firstDue && !s.doomed {
		s.dropKeys()
	}
	s.firstDue = false
	s.depth--
	s.inObject = false
	if s.depth > 0 {
		word, bit := s.kindBit(s.depth - 1)
		s.inObject = *word&bit != 0
	}
}

// kindBit finds the bit of a level that is or was open.
func (s *scanner) kindBit(level int) (word *uint64, bit uint64) {
	bit = 1 << (level % 64)
	if level < DefaultDepth {
		return &s.kinds[level/64], bit
	}
	return &s.moreKinds[(level-DefaultDepth)/64], bit
}

func (s *scanner) closer() byte {
	if s.inObject {
		return '}'
	}
	return ']'
}
