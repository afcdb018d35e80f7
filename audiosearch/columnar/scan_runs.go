package columnar

// regular offers videos of a regular group. Those of consecutive rows stand side by side:
// they are looked at as one.
func (s *rowScan) regular(row uint32, lows []uint16, g *placeGroup) {
	var scores []byte
	var maxima []uint16
	current, floor := -1, s.floor
	for i := 0; i < len(lows) && uint32(lows[i]) < g.rows; {
		j := i + 1
		for j < len(lows) && lows[j] == lows[j-1]+1 {
			j++
		}
		start := int(g.first.start + uint32(lows[i])*g.first.count)
		end := start + (min(int(lows[i])+j-i, int(g.rows))-int(lows[i]))*int(g.first.count)
		run := run{row: row | uint32(lows[i]), start: start, count: int(g.first.count)}
		i = j
		for start < end {
			if start/chunkWindows != current {
				current = start / chunkWindows
				c := &s.table.chunks[current]
				scores, maxima = c.column(s.column), c.columnMaxima(s.column)
			}
			in := start % chunkWindows
			stop := min(in|(blockWindows-1)+1, in+end-start)
			if maxima[in/blockWindows] >= floor {
				s.run(run, scores, start, in, stop)
				floor = s.floor
			}
			start += stop - in
		}
	}
}

// run is where the windows of consecutive rows stand, so many of each.
type run struct {
	row          uint32 // the first one
	start, count int
}

// run offers windows of a run: those that stand in a chunk from in to stop, the first of
// which is at start in the table.
func (s *rowScan) run(r run, scores []byte, start, in, stop int) {
	for at := next(scores[:2*stop], in, s.floor); at < stop; at = next(scores[:2*stop], at, s.floor) {
		since := start + at - in - r.start
		row, window := r.row+uint32(since/r.count), since%r.count
		end := min(at+r.count-window, stop)
		if s.passes == nil || s.passes(row) {
			s.offer(row, uint32(window), scores[2*at:2*end])
		}
		at = end
	}
}
