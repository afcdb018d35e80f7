package columnar

import (
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Scores holds the scores of the videos of one dataset by one model, by row as in
// [Columns]. The zero value is empty, and nil can be read as such. Reading is safe for
// concurrent use, while nothing is changed.
type Scores struct {
	tables []*table // each of other classes
	places places
	videos int
}

// Put gives a video its scores, instead of those that it had. columns[i] has those of
// classes[i], one for each window. No class comes twice. A score that is missing is 0. It
// keeps classes, which the caller must not change any more, and not columns. There is
// room for 2^32 windows.
func (s *Scores) Put(row uint32, classes []sound.Class, columns [][]uint16) {
	s.Remove(row)
	columns = columns[:min(len(columns), len(classes))]
	if len(columns) == 0 || len(columns[0]) == 0 {
		return
	}
	at := slices.IndexFunc(s.tables, func(t *table) bool { return t != nil && slices.Equal(t.classes, classes) })
	if at < 0 {
		if at = slices.Index(s.tables, nil); at < 0 {
			at = len(s.tables)
			s.tables = append(s.tables, nil)
		}
		s.tables[at] = &table{classes: classes}
	}
	s.videos++
	start := s.tables[at].put(row, columns)
	s.places.set(row, place{start: start, count: uint32(len(columns[0])), table: uint32(at) + 1})
}

// Remove forgets the scores of a video, if there are any.
func (s *Scores) Remove(row uint32) {
	p := s.place(row)
	if p.table == 0 {
		return
	}
	s.videos--
	s.places.set(row, place{})
	t := s.tables[p.table-1]
	t.remove(p)
	switch {
	case t.dead == t.windows:
		s.tables[p.table-1] = nil
		s.places.settle()
	case t.dead > t.windows/2:
		s.compact(int(p.table - 1))
	}
}

// Len returns how many videos have scores.
func (s *Scores) Len() int {
	if s == nil {
		return 0
	}
	return s.videos
}

// Has reports whether a video has scores.
func (s *Scores) Has(row uint32) bool { return s.place(row).table != 0 }

func (s *Scores) place(row uint32) place {
	if s == nil {
		return place{}
	}
	return s.places.at(row)
}

// Classes returns the classes that a video has scores of, to be read only: many videos
// share them.
func (s *Scores) Classes(row uint32) []sound.Class {
	if p := s.place(row); p.table != 0 {
		return s.tables[p.table-1].classes
	}
	return nil
}

// Windows returns the scores of windows from to to (exclusive) of a video: one row a
// window, with a value for each class. The range is cut to what there is.
func (s *Scores) Windows(row uint32, from, to int) [][]uint16 {
	p := s.place(row)
	if p.table == 0 {
		return nil
	}
	from, to = max(from, 0), min(to, int(p.count))
	t := s.tables[p.table-1]
	var windows [][]uint16
	for w := from; w < to; w++ {
		windows = append(windows, t.window(int(p.start)+w))
	}
	return windows
}

// Wasted reports whether removed scores take up more than a tenth of the memory, so that
// it pays to compact. Remove compacts by itself when they take up half of it.
func (s *Scores) Wasted() bool {
	return slices.ContainsFunc(s.tables, func(t *table) bool { return t != nil && t.dead > t.windows/10 })
}

// Compact gives back the memory of removed scores, and what is kept for growth.
func (s *Scores) Compact() {
	for i, t := range s.tables {
		if t != nil && (t.dead > 0 || t.spare()) {
			s.compact(i)
		}
	}
	s.places.settle()
	s.places.groups = slices.Clone(s.places.groups)
	s.tables = slices.Clone(s.tables)
}

// Bytes returns how much memory is held.
func (s *Scores) Bytes() int {
	n := s.places.bytes() + 8*cap(s.tables)
	for _, t := range s.tables {
		if t != nil {
			n += t.bytes()
		}
	}
	return n
}

// compact writes a table anew, without what is dead, in the order of the rows. A chunk is
// let go as soon as all of it is copied.
func (s *Scores) compact(number int) {
	old := s.tables[number]
	live := old.windows - old.dead
	t := &table{classes: old.classes, videos: make([]span, 0, len(old.videos))}
	left := make([]int, len(old.chunks)) // windows to copy
	rows := make([]uint32, 0, len(old.videos))
	for i, v := range old.videos {
		if v.row != deadRow {
			rows = append(rows, v.row)
			old.chunksOf(int(v.start), old.end(i)-int(v.start), func(i, n int) { left[i] += n })
		}
	}
	slices.Sort(rows)
	for _, row := range rows {
		p := s.place(row)
		count := int(p.count)
		start := t.reserve(row, count, live)
		live -= count
		t.copyFrom(old, int(p.start), int(start), count)
		old.chunksOf(int(p.start), count, func(i, n int) {
			if left[i] -= n; left[i] == 0 {
				old.chunks[i] = chunk{}
			}
		})
		p.start = start
		s.places.set(row, p)
	}
	t.clip()
	s.tables[number] = t
	s.places.settle()
}
