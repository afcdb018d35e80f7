package columnar

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// Columns holds the metadata of the videos of one dataset, by row: a number that the
// caller gives to each video. Rows should be dense, and those of deleted videos be given
// to new ones. The zero value is empty. Reading is safe for concurrent use, while nothing
// is changed.
//
// Each key is a column with a dictionary of its distinct values, which are checked and
// read as numbers once, and know the rows that have them. What passes filters that come
// again is kept until the next change: 16 lists of filters, a byte for each video at
// most.
type Columns struct {
	rows    rowSet
	cells   [][]cell // by row
	columns []*column
	byKey   map[string]uint32
	free    []uint32 // columns that are nil
	kept    keptSets

	looked func(value string) // called with each value that texts are searched in; nil but in tests
}

// cell is what one video has under one key.
type cell struct{ column, code uint32 }

// Set gives a row its metadata, instead of what it had.
func (c *Columns) Set(row uint32, m metadata.Map) {
	c.Remove(row)
	c.kept.forget()
	c.rows.add(row)
	if int(row) >= len(c.cells) {
		c.cells = append(c.cells, make([][]cell, int(row)+1-len(c.cells))...)
	}
	if len(m) == 0 {
		return
	}
	cells := make([]cell, 0, len(m))
	for key, value := range m {
		id := c.column(key)
		cells = append(cells, cell{id, c.columns[id].add(row, value)})
	}
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.column, b.column) })
	c.cells[row] = cells
	for _, cell := range cells {
		c.place(row, cell)
	}
}

// Remove forgets a row, if there is one.
func (c *Columns) Remove(row uint32) {
	if !c.rows.remove(row) {
		return
	}
	c.kept.forget()
	for _, cell := range c.cells[row] {
		col := c.columns[cell.column]
		if int(row) < len(col.dense) {
			col.dense[row] = nullCode
		}
		col.remove(row, cell.code)
		if col.thin(); col.rows == 0 {
			delete(c.byKey, col.key)
			c.columns[cell.column] = nil
			c.free = append(c.free, cell.column)
		}
	}
	c.cells[row] = nil
}

// Len returns how many rows there are.
func (c *Columns) Len() int { return c.rows.count }

// HasKey reports whether any row has the key, be it with null.
func (c *Columns) HasKey(key string) bool {
	_, found := c.byKey[key]
	return found
}

func (c *Columns) column(key string) uint32 {
	if id, found := c.byKey[key]; found {
		return id
	}
	if c.byKey == nil {
		c.byKey = map[string]uint32{}
	}
	key = strings.Clone(key) // it may be part of a large text
	var id uint32
	if n := len(c.free); n > 0 {
		id, c.free = c.free[n-1], c.free[:n-1]
	} else {
		id = uint32(len(c.columns))
		c.columns = append(c.columns, nil)
	}
	c.columns[id] = newColumn(key)
	c.byKey[key] = id
	return id
}

// A column that a quarter of the rows have is dense: the codes stand by row as well, four
// bytes for each, which makes it several times as fast to look one up. It stays so until
// no eighth has it.
const (
	denseFrom  = 4
	sparseFrom = 8
)

// place writes down what a row has in a column if that is dense.
func (c *Columns) place(row uint32, cell cell) {
	col := c.columns[cell.column]
	if n := len(c.cells); col.dense == nil && col.rows*denseFrom >= n {
		col.dense = make([]uint32, n)
		for row := range col.present.all {
			col.dense[row] = c.cell(row, cell.column)
		}
	}
	if n := len(col.dense); n > 0 && int(row) >= n {
		col.dense = append(col.dense, make([]uint32, int(row)+1-n)...)
	}
	if len(col.dense) > 0 {
		col.dense[row] = cell.code
		col.thin()
	}
}

// thin forgets the codes by row if few rows have one.
func (c *column) thin() {
	if c.rows*sparseFrom < len(c.dense) {
		c.dense = nil
	}
}

// code returns what a row has in a column.
func (c *Columns) code(row, column uint32) uint32 {
	if code, dense := c.columns[column].codeOf(row); dense {
		return code
	}
	return c.cell(row, column)
}

// cell is code for a column that is not dense.
func (c *Columns) cell(row, column uint32) uint32 {
	cells := c.cells[row]
	i := sort.Search(len(cells), func(i int) bool { return cells[i].column >= column })
	if i == len(cells) || cells[i].column != column {
		return nullCode
	}
	return cells[i].code
}
