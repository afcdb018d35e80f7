package strictjson

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
	"unicode/utf8"
)

// A key of an open object is one uint64: its hash in the upper half, the offset
// of its opening quote in the lower one, so that sorting orders by hash and then
// by place. Offsets need 31 bits.
const (
	hashShift  = 32
	firstKey   = uint64(1) << 31 // marks the first key of its object
	offsetMask = firstKey - 1
)

// fewKeys is how many earlier keys a new one is compared with at once. An object
// with more is searched when it closes.
const fewKeys = 8

// minMember is the shortest way from one key to the next, either in the same
// object or, the closing brace included, in one that opens between them.
const minMember = len(`"":0,`)

// keySeed is random, so that nobody can write keys whose hashes collide.
var keySeed = maphash.MakeSeed()

// hashKey hashes the decoded text of a string, given without its quotes.
func hashKey(text []byte, escaped bool) uint64 {
	if !escaped {
		return maphash.Bytes(keySeed, text)
	}
	var h maphash.Hash
	h.SetSeed(keySeed)
	var buf [utf8.UTFMax]byte
	for len(text) > 0 {
		var plain []byte
		var r rune
		plain, r, text = piece(text)
		h.Write(plain)
		if r >= 0 {
			h.Write(buf[:utf8.EncodeRune(buf[:], r)])
		}
	}
	return h.Sum64()
}

// keyStack returns the keys of the open objects with the room after them.
func (s *scanner) keyStack() []uint64 {
	if s.moreKeys != nil {
		return s.moreKeys
	}
	return s.keys[:]
}

// addKey puts the key at offset on the stack of the innermost object.
func (s *scanner) addKey(offset int, hash uint64) {
	stack := s.keyStack()
	if s.keyCount == len(stack) {
		if stack = s.growKeys(offset); s.doomed {
			return
		}
	}
	key := hash>>hashShift<<hashShift | uint64(offset)
	if s.firstDue {
		s.firstDue = false
		key |= firstKey
	} else {
		s.compareKey(key, stack[:s.keyCount])
	}
	stack[s.keyCount] = key
	s.keyCount++
}

// compareKey looks for a new key among the few before it in its object.
func (s *scanner) compareKey(key uint64, earlier []uint64) {
	for n := 1; n <= fewKeys; n++ {
		k := earlier[len(earlier)-n]
		if k>>hashShift == key>>hashShift && s.sameKey(k, key) {
			s.refuse(int(key&offsetMask), reasonDuplicate)
			return
		}
		if k&firstKey != 0 {
			return
		}
	}
}

// growKeys makes room for the key at offset and more. The steps are large, and
// the last one is cut to what a well-formed rest can hold: a byte for each open
// bracket, minMember for each further key. So there are never more than a fifth
// as many keys as bytes, and all steps together allocate less than 4 bytes per
// byte of document: 8/5 for the last one, at most 4/3 of that before it.
func (s *scanner) growKeys(offset int) []uint64 {
	rest := len(s.data) - offset - s.depth
	if rest < 0 {
		s.doomed = true
		return nil
	}
	var more []uint64
	if s.moreKeys == nil {
		more = borrowKeys()
	}
	if len(more) <= s.keyCount {
		more = make([]uint64, min(4*s.keyCount, s.keyCount+1+rest/minMember))
	}
	copy(more, s.keyStack())
	s.moreKeys = more
	return more
}

// spareKeys holds *[]uint64 that served as moreKeys. A document may be parsed more than
// once on its way, and what one pass allocated serves the next.
var spareKeys sync.Pool

// maxSpareKeys bounds what is kept for later, in keys.
const maxSpareKeys = 1 << 18

func borrowKeys() []uint64 {
	if spare, ok := spareKeys.Get().(*[]uint64); ok {
		return *spare
	}
	return nil
}

func (s *scanner) returnKeys() {
	if s.moreKeys != nil && len(s.moreKeys) <= maxSpareKeys {
		spare := s.moreKeys
		spareKeys.Put(&spare)
	}
}

// dropKeys takes the keys of the innermost object, which has at least one, off
// the stack and searches them unless compareKey has seen them all.
func (s *scanner) dropKeys() {
	stack := s.keyStack()
	first := s.keyCount - 1
	for stack[first]&firstKey == 0 {
		first--
	}
	if keys := stack[first:s.keyCount]; len(keys) > fewKeys+1 {
		keys[0] &^= firstKey
		slices.Sort(keys)
		s.searchKeys(keys)
	}
	s.keyCount = first
}

// searchKeys looks for repeated keys in sorted ones.
func (s *scanner) searchKeys(keys []uint64) {
	for start := 0; start < len(keys); {
		end := start + 1
		for end < len(keys) && keys[end]>>hashShift == keys[start]>>hashShift {
			end++
		}
		s.searchRun(keys[start:end])
		start = end
	}
}

// searchRun looks for the first repeated key among keys of one hash. It stops
// there: runs are short, save for those of one key repeated many times.
func (s *scanner) searchRun(run []uint64) {
	for i := 1; i < len(run); i++ {
		for _, earlier := range run[:i] {
			if s.sameKey(earlier, run[i]) {
				s.refuse(int(run[i]&offsetMask), reasonDuplicate)
				return
			}
		}
	}
}

func (s *scanner) sameKey(a, b uint64) bool {
	x, y := s.keyText(a), s.keyText(b)
	if bytes.IndexByte(x, '\\') < 0 && bytes.IndexByte(y, '\\') < 0 {
		return bytes.Equal(x, y)
	}
	return sameText(x, y)
}

func (s *scanner) keyText(entry uint64) []byte {
	start := int(entry & offsetMask)
	return s.data[start+1 : stringEnd(s.data, start)-1]
}
