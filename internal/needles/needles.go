// Package needles tells whether a text contains all strings of a set. Whatever the strings
// are, the time grows with the length of the text and not with their number. Package
// strings can be made to compare a long string at nearly every place of a text.
package needles

import "strings"

// Set is a set of strings to look for: an automaton (Aho and Corasick, "Efficient String
// Matching", 1975). A node takes 20 bytes, as nearly all have one child at most. A Set is
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

// node is a prefix of a string.
type node struct {
	fail  int32 // its longest proper suffix that is a node
	child int32 // the only child; 0: there is none, or wide has them
	wide  int32 // 1 + where the children stand in Set.wide; 0: there is one at most
	word  int32 // the number of the string that it is, from 1; 0: it is none
	char  byte  // that leads to the child
}

const (
	maxFew   = 3
	maxShort = 32 // bytes, which package strings compares by few instructions

	costOfByte = 10 // nanoseconds, about, to enter a byte of a string
	costOfNode = 20 // the same to finish a node
)

// New returns the set of some strings. They may repeat, be empty, and be parts of one
// another.
//
// It calls step with the nanoseconds, about, of each part of the work that comes next, and
// returns an error of step's at once: many long strings take tens of milliseconds.
func New(all []string, step func(nanoseconds int) error) (*Set, error) {
	s := &Set{}
	short, size := true, 0
	for _, n := range all {
		s.longest = max(s.longest, len(n))
		short = short && len(n) <= maxShort
		size += len(n)
	}
	if short && len(all) <= maxFew {
		s.few = all
		return s, nil
	}
	s.nodes, s.wide = make([]node, 1, 1+size), make([][256]int32, 1)
	s.nodes[0].wide = 1
	for _, n := range all {
		if err := step(costOfByte * len(n)); err != nil {
			return nil, err
		}
		s.enter(n)
	}
	if err := s.finish(step); err != nil {
		return nil, err
	}
	return s, nil
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

// finish finds where each node fails to. It forgets the words that are parts of others: a
// text that contains the other contains them too. So when a text reaches the end of a
// word, the automaton is at the node of that word, and at no longer one.
func (s *Set) finish(step func(nanoseconds int) error) error {
	order := make([]int32, 1, len(s.nodes)) // breadth first
	ends := make([]int32, len(s.nodes))     // by node: its longest proper suffix that is a word
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
		const some = 1024 // nodes between two steps
		if i%some == 0 {
			if err := step(costOfNode * some); err != nil {
				return err
			}
		}
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
	return nil
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
