package columnar

import (
	"math"
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
	order   numberOrder
	approx  []float64 // by code: the nearest to the number; NaN: it is none
	dense   []uint32  // by row: the code, nullCode if there is none; nil: few rows have the key
}

const nullCode = 0

// entry is a distinct value. Those of the same text are one: filters cannot tell them
// apart.
type entry struct {
	text    string
	number  decimal.Decimal
	numeric bool // there is a number
	used    bool // not free
	asOne   bool // it stands once in the order of the numbers, for all rows
}

// holders are the rows that have a value.
type holders struct {
	many *rowSet // nil: there is one at most
	one  uint32
	any  bool
}

func newColumn(key string) *column {
	return &column{key: key, codes: map[string]uint32{}, entries: make([]entry, 1), holders: make([]holders, 1), approx: []float64{math.NaN()}}
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
	if c.entries[code].numeric {
		c.number(code, row)
	}
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
		c.approx = append(c.approx, 0)
	}
	c.approx[code] = math.NaN()
	if e.numeric {
		c.approx[code] = e.number.Approx()
	}
	c.codes[e.text] = code
	c.text += len(e.text)
	return code
}

func (c *column) remove(row, code uint32) {
	c.rows--
	if code == nullCode {
		return
	}
	c.present.remove(row)
	h := &c.holders[code]
	h.remove(row)
	if c.entries[code].numeric {
		c.unnumber(code, row)
	}
	if h.count() > 0 {
		return
	}
	// An entry without rows waits for its value to come back, and for many others.
	if c.idle++; c.idle > 16+len(c.codes)/2 {
		c.sweep()
	}
}

// sweep frees the entries without rows.
func (c *column) sweep() {
	idle := func(code uint32) bool { return c.holders[code].count() == 0 }
	c.sweepNumbered() // its order is that of the entries
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

// codeOf returns the code that a row of the column has, and false if the column is not
// dense.
func (c *column) codeOf(row uint32) (code uint32, dense bool) {
	if int(row) < len(c.dense) {
		return c.dense[row], true
	}
	return nullCode, c.dense != nil
}

// effort returns about how many nanoseconds it takes to look at all values.
func (c *column) effort() int { return costOfByte*c.text + costOfValue*len(c.codes) }

// each returns about how many nanoseconds it takes to look at one of the values.
func (c *column) each() float64 { return float64(c.effort()) / float64(max(len(c.codes), 1)) }

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
