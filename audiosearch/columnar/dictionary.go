package columnar

import (
	"slices"
	"sort"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/decimal"
)

// column holds the values of one key.
type column struct {
	key     string
	rows    int    // that have the key
	present rowSet // those of them with a value that is not null
	codes   map[string]uint32
	entries []entry // by code; the first one stands for null
	holders []holders
	free    []uint32 // codes that are not in use
	idle    int      // entries without rows
	text    int      // bytes of all values
	runs    [][]uint32
}

const nullCode = 0

// entry is a distinct value. Those of the same text are one: filters cannot tell them
// apart.
type entry struct {
	text    string
	number  decimal.Decimal
	numeric bool // there is a number
	used    bool // not free
}

// holders are the rows that have a value.
type holders struct {
	many *rowSet // nil: there is one at most
	one  uint32
	any  bool
}

func newColumn(key string) *column {
	return &column{key: key, codes: map[string]uint32{}, entries: make([]entry, 1), holders: make([]holders, 1)}
}

// add returns the code of the value.
func (c *column) add(row uint32, value metadata.Scalar) uint32 {
	c.rows++
	if value.Kind() == metadata.KindNull {
		return nullCode
	}
	c.present.add(row)
	code, found := c.codes[value.Text()]
	if !found {
		code = c.enter(value)
	} else if c.holders[code].count() == 0 {
		c.idle--
	}
	c.holders[code].add(row)
	return code
}

func (c *column) enter(value metadata.Scalar) (code uint32) {
	e := entry{text: strings.Clone(value.Text()), used: true} // it may be part of a large text
	e.number, e.numeric = decimal.Parse(e.text)               // neither true nor false is one
	if n := len(c.free); n > 0 {
		code, c.free = c.free[n-1], c.free[:n-1]
		c.entries[code] = e
	} else {
		code = uint32(len(c.entries))
		c.entries = append(c.entries, e)
		c.holders = append(c.holders, holders{})
	}
	c.codes[e.text] = code
	c.text += len(e.text)
	if e.numeric {
		c.enterNumber(code)
	}
	return code
}

func (c *column) remove(row, code uint32) {
	c.rows--
	if code == nullCode {
		return
	}
	c.present.remove(row)
	h := &c.holders[code]
	if h.remove(row); h.count() > 0 {
		return
	}
	// An entry without rows waits for its value to come back, and for as many others, so
	// that the order of numbers need not be mended for each.
	if c.idle++; c.idle > 16+len(c.codes)/2 {
		c.sweep()
	}
}

// sweep frees the entries without rows.
func (c *column) sweep() {
	idle := func(code uint32) bool { return c.holders[code].count() == 0 }
	for i := range c.runs {
		c.runs[i] = slices.DeleteFunc(c.runs[i], idle)
	}
	for code := range c.entries {
		if e := &c.entries[code]; e.used && idle(uint32(code)) {
			delete(c.codes, e.text)
			c.text -= len(e.text)
			*e = entry{}
			c.free = append(c.free, uint32(code))
		}
	}
	c.idle = 0
}

// The codes of numbers stand in runs, each in order, each more than twice as long as the
// next: a new one costs little, as does a search (O'Neil et al., "The Log-Structured
// Merge-Tree", 1996; Bentley and Saxe, "Decomposable Searching Problems", 1980).

func (c *column) enterNumber(code uint32) {
	run := []uint32{code}
	for n := len(c.runs); n > 0 && len(c.runs[n-1]) <= 2*len(run); n-- {
		run = c.merge(c.runs[n-1], run)
		c.runs = c.runs[:n-1]
	}
	c.runs = append(c.runs, run)
}

func (c *column) merge(a, b []uint32) []uint32 {
	merged := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if c.entries[b[0]].number.Compare(c.entries[a[0]].number) < 0 {
			merged, b = append(merged, b[0]), b[1:]
		} else {
			merged, a = append(merged, a[0]), a[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// numbers returns the codes of the numbers within all bounds, in parts.
func (c *column) numbers(bounds []bound) (parts [][]uint32) {
	for _, run := range c.runs {
		for _, p := range bounds {
			at := sort.Search(len(run), func(i int) bool { return p.passes(c.entries[run[i]].number) == p.below })
			if p.below {
				run = run[at:]
			} else {
				run = run[:at]
			}
		}
		parts = append(parts, run)
	}
	return parts
}

// effort returns about how many nanoseconds it takes to look at all values.
func (c *column) effort() int { return costOfByte*c.text + costOfValue*len(c.codes) }

func (h *holders) count() int {
	switch {
	case h.many != nil:
		return h.many.count
	case h.any:
		return 1
	}
	return 0
}

func (h *holders) add(row uint32) {
	switch {
	case h.many != nil:
		h.many.add(row)
	case h.any:
		h.many = &rowSet{}
		h.many.add(h.one)
		h.many.add(row)
	default:
		h.one, h.any = row, true
	}
}

func (h *holders) remove(row uint32) {
	if h.many == nil {
		h.any = false
		return
	}
	if h.many.remove(row); h.many.count == 0 {
		*h = holders{}
	}
}

func (h *holders) contains(row uint32) bool {
	if h.many != nil {
		return h.many.contains(row)
	}
	return h.any && h.one == row
}

// set returns the rows, to be read only.
func (h *holders) set() *rowSet {
	if h.many != nil {
		return h.many
	}
	s := &rowSet{}
	if h.any {
		s.add(h.one)
	}
	return s
}
