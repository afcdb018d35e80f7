package columnar

import "slices"

// place is where the windows of a video stand: consecutive ones of a table.
type place struct {
	start uint32
	count uint32
	table uint32 // its number and one more; 0: the video has no scores
}

// places are the places of all videos, by row, in groups of 65536 as the blocks of a
// rowSet.
type places struct{ groups []placeGroup }

// placeGroup has the places of rows that agree in their upper 16 bits. Videos of the same
// length that came in the order of their rows, as those of one window do, take up next to
// nothing, and are looked up faster.
type placeGroup struct {
	mixed []place // nil: the group is regular
	first place   // in a regular group: the place of the first row; those of the other ones follow
	rows  uint32  // in a regular group: how many have one
}

const groupRows = 1 << 16

func (s *places) at(row uint32) place {
	if int(row/groupRows) >= len(s.groups) {
		return place{}
	}
	return s.groups[row/groupRows].at(row % groupRows)
}

func (g *placeGroup) at(i uint32) place {
	switch {
	case g.mixed == nil && i < g.rows:
		p := g.first
		p.start += i * p.count
		return p
	case i < uint32(len(g.mixed)):
		return g.mixed[i]
	}
	return place{}
}

func (s *places) set(row uint32, p place) {
	for int(row/groupRows) >= len(s.groups) {
		s.groups = append(s.groups, placeGroup{})
	}
	g, i := &s.groups[row/groupRows], row%groupRows
	if g.at(i) == p {
		return
	}
	if g.mixed == nil {
		switch {
		case i == 0 && g.rows <= 1 && p.table != 0:
			g.first, g.rows = p, 1
			return
		case i > 0 && i == g.rows && p == (place{g.first.start + i*g.first.count, g.first.count, g.first.table}):
			g.rows++
			return
		case i+1 == g.rows && p.table == 0:
			g.rows--
			return
		}
		mixed := make([]place, g.rows)
		for j := range mixed {
			mixed[j] = g.at(uint32(j))
		}
		*g = placeGroup{mixed: mixed}
	}
	if int(i) >= len(g.mixed) {
		g.mixed = append(g.mixed, make([]place, int(i)+1-len(g.mixed))...)
	}
	g.mixed[i] = p
}

// settle makes the groups regular that can be, and cuts the others.
func (s *places) settle() {
	for i := range s.groups {
		if g := &s.groups[i]; g.mixed != nil {
			g.settle()
		}
	}
}

func (g *placeGroup) settle() {
	n := len(g.mixed)
	for n > 0 && g.mixed[n-1].table == 0 {
		n--
	}
	regular := placeGroup{rows: uint32(n)}
	if n > 0 {
		regular.first = g.mixed[0]
	}
	for i, p := range g.mixed[:n] {
		if p.table == 0 || p != regular.at(uint32(i)) {
			g.mixed = slices.Clone(g.mixed[:n])
			return
		}
	}
	*g = regular
}

// regular reports whether all videos have one window in a table, in the order of their
// rows.
func (s *places) regular(table uint32) bool {
	for i := range s.groups {
		if g := &s.groups[i]; g.mixed != nil || g.rows > 0 && (g.first.count != 1 || g.first.table != table) {
			return false
		}
	}
	return true
}

func (s *places) bytes() int {
	n := 48 * cap(s.groups)
	for i := range s.groups {
		n += 12 * cap(s.groups[i].mixed)
	}
	return n
}
