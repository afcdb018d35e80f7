// Package needles tells whether texts contain all of some strings, in time that grows
// with the text and not with the number of strings, whatever they are: the search of
// package strings can be made to compare a long string at nearly every place of a text.
package needles

import "strings"

// Set is a set of strings to look for: an automaton (Aho and Corasick, "Efficient String
// Matching", 1975), of which a node that most often has one child takes 20 bytes. It is
// for one goroutine.
type Set struct {
	few   []string // looked for one by one instead, because they are few and short
	nodes []node   // the first is the root; nil: few counts
	wide  [][256]int32
	first int // the byte that all strings begin with; -1: they begin with several

	longest int
	words   int      // that are looked for: those that are parts of others are not
	seen    []uint32 // by word: the latest round that found it
	round   uint32
}

// node is a beginning of a string.
type node struct {
	fail  int32 // its longest proper end that is a node
	child int32 // the only child; 0: there is none, or wide has them
	wide  int32 // where the children stand in Set.wide, and one more; 0: there is one at most
	word  int32 // the string that it is, and one more; 0: it is none
	char  byte  // that leads to the child
}

const (
	maxFew   = 3
	maxShort = 32 // bytes: package strings compares so many at a place by few instructions
)

// New returns the set of some strings. They may repeat, be empty, and be parts of one another.
func New(all []string) *Set {
	s := &Set{}
	short := true
	for _, n := range all {
		s.longest = max(s.longest, len(n))
		short = short && len(n) <= maxShort
	}
	if short && len(all) <= maxFew {
		s.few = all
		return s
	}
	s.nodes, s.wide = []node{{wide: 1}}, make([][256]int32, 1)
	for _, n := range all {
		s.enter(n)
	}
	s.finish()
	return s
}

func (s *Set) child(at int32, c byte) int32 {
	n := &s.nodes[at]
	switch {
	case n.wide != 0:
		return s.wide[n.wide-1][c]
	case n.char == c:
		return n.child
	}
	return 0
}

func (s *Set) enter(word string) {
	if word == "" {
		return // everything contains it
	}
	at := int32(0)
	for i := range len(word) {
		next := s.child(at, word[i])
		if next == 0 {
			next = int32(len(s.nodes))
			s.nodes = append(s.nodes, node{})
			s.adopt(at, word[i], next)
		}
		at = next
	}
	if s.nodes[at].word == 0 {
		s.words++
		s.nodes[at].word = int32(s.words)
	}
}

func (s *Set) adopt(at int32, c byte, child int32) {
	n := &s.nodes[at]
	switch {
	case n.wide != 0:
		s.wide[n.wide-1][c] = child
	case n.child == 0:
		n.child, n.char = child, c
	default:
		var children [256]int32
		children[n.char], children[c] = n.child, child
		s.wide = append(s.wide, children)
		n.child, n.wide = 0, int32(len(s.wide))
	}
}

// finish finds where each node fails to, and forgets the words that are parts of others:
// where they are, is the other. So a node at which a word ends is that word.
func (s *Set) finish() {
	order := make([]int32, 1, len(s.nodes)) // breadth first
	ends := make([]int32, len(s.nodes))     // by node: its longest proper end that is a word
	part := make([]bool, s.words+1)
	each := func(at int32, f func(c byte, child int32)) {
		n := s.nodes[at]
		if n.wide == 0 {
			if n.child != 0 {
				f(n.char, n.child)
			}
			return
		}
		for c, child := range s.wide[n.wide-1] {
			if child != 0 {
				f(byte(c), child)
			}
		}
	}
	for i := 0; i < len(order); i++ {
		at := order[i]
		each(at, func(c byte, child int32) {
			order = append(order, child)
			part[s.nodes[at].word] = true // it goes on
			fail := int32(0)
			if at != 0 {
				fail = s.next(s.nodes[at].fail, c)
			}
			s.nodes[child].fail = fail
			if ends[child] = s.nodes[fail].word; ends[child] == 0 {
				ends[child] = ends[fail]
			}
			part[ends[child]] = true
		})
	}
	left := 0
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.word == 0 {
			continue
		}
		if part[n.word] {
			n.word = 0
		} else {
			left++
			n.word = int32(left)
		}
	}
	s.words, s.seen = left, make([]uint32, left+1)
	s.first = -1
	starts := 0
	each(0, func(c byte, _ int32) {
		starts++
		s.first = int(c)
	})
	if starts > 1 {
		s.first = -1
	}
}

// next returns where a byte leads to.
func (s *Set) next(at int32, c byte) int32 {
	for {
		if to := s.child(at, c); to != 0 || at == 0 {
			return to
		}
		at = s.nodes[at].fail
	}
}

// AllIn reports whether a text contains all strings of the set.
func (s *Set) AllIn(text string) bool {
	if len(text) < s.longest {
		return false
	}
	if s.nodes == nil {
		for _, n := range s.few {
			if !strings.Contains(text, n) {
				return false
			}
		}
		return true
	}
	left := s.words
	if left == 0 {
		return true
	}
	if s.round++; s.round == 0 {
		clear(s.seen)
		s.round = 1
	}
	at := int32(0)
	for i := 0; i < len(text); i++ {
		if at == 0 && s.first >= 0 {
			skip := strings.IndexByte(text[i:], byte(s.first))
			if skip < 0 {
				return false
			}
			i += skip
		}
		at = s.next(at, text[i])
		if w := s.nodes[at].word; w != 0 && s.seen[w] != s.round {
			s.seen[w] = s.round
			if left--; left == 0 {
				return true
			}
		}
	}
	return false
}
