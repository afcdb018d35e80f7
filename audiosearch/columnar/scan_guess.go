package columnar

import (
	"math"
	"slices"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

const (
	// further is by how much more windows are expected above a guessed floor in the second
	// guess than in the first.
	further = 8
	// maxGuesses bounds what is done in vain where the videos that pass have poor scores.
	maxGuesses = 2
	// One of so many windows may be expected above a guess, or most blocks have one.
	rare = 64
)

// expected returns about how many windows must be looked at to find so many that are
// selected above a floor that is guessed.
func expected(wanted int, share, windows float64) float64 {
	// As many more as make it unlikely that fewer than are wanted are above it: how many
	// are there varies by the square root, if good scores stand anywhere.
	enough := float64(wanted) + 3*math.Sqrt(float64(wanted))
	return min(enough/share, windows)
}

// rank offers the windows of a table. It begins with a floor that is guessed, so that few
// windows need a look before the ranking knows a floor of its own. If fewer windows above
// it are found than are wanted, it was too high, and all is done again with a lower one,
// and at last with none.
func (s *Scores) rank(t *turns.Turn, number, column int, selected *Selection, r *Ranking) error {
	table, floor := s.tables[number], r.floor
	var found []Hit // of other tables, as long as they are too few
	guesses := r.free && len(r.best.hits) < r.best.wanted
	if selected.late() != nil && !r.free { // it will be asked for all of them, more than once
		if err := selected.put(t); err != nil {
			return err
		}
	}
	if guesses || selected.late() != nil {
		found = slices.Clone(r.best.hits)
	}
	_, share := selected.share()
	need := expected(r.holds(), share, float64(table.windows))
	if selected.late() != nil { // any guess pays that shows how many texts pass
		need = min(need, float64(table.windows)/rare)
	}
	for guessed := 0; ; guessed++ {
		selected.sort()
		few := selected.few(table, s.places.regular(uint32(number)+1), r.holds())
		guess := uint16(0)
		if guesses && guessed < maxGuesses && !(few && selected.primes()) {
			guess = table.guess(column, need)
			need *= further
		}
		r.floor = max(floor, guess)
		if few {
			scan := rowScan{places: &s.places, table: table, number: uint32(number) + 1, column: column, Ranking: r, turn: t}
			selected.scan(&scan)
		} else {
			selected.sortToTest()
			scan := tableScan{places: &s.places, table: table, number: uint32(number) + 1, column: column, selected: selected, Ranking: r, turn: t}
			scan.run()
		}
		err, b := t.Step(0), &r.best
		if err == nil && selected.gaveUp() {
			if err = selected.put(t); err == nil {
				b.hits, b.haveRejected, r.floor = append(b.hits[:0], found...), false, floor
				continue
			}
		}
		// If they are as many as are wanted, those of other tables among them may be worse
		// than the guess.
		if err != nil || guess <= floor || len(b.hits) == b.wanted && b.hits[0].Score >= guess {
			return err
		}
		b.hits, b.haveRejected, r.floor = append(b.hits[:0], found...), false, floor
		selected.learn()
	}
}

// guess returns a score that about so many windows have at least, or 0 if a guess does not
// pay. It goes by the maxima of blocks, as if good scores stood anywhere.
func (t *table) guess(column int, windows float64) uint16 {
	const (
		least = 1 << 17 // windows of a table for which it pays
		most  = 1 << 14 // maxima that are looked at
		sure  = 512     // of these reach the guess, if there are so many: it is as good as with more
		shift = 4
	)
	if t.windows < least || windows > float64(t.windows)/rare {
		return 0
	}
	var counts [1 << 16 >> shift]uint16
	blocks := t.windows / blockWindows
	share := 1 - math.Pow(1-windows/float64(t.windows), blockWindows)
	step := max(1+blocks/most, int(share*float64(blocks))/sure|1)
	seen := 0
	for i := range t.chunks {
		maxima := t.chunks[i].columnMaxima(column)
		maxima = maxima[:blocksOf(min(t.windows-i*chunkWindows, chunkWindows))]
		for at := 0; at < len(maxima); at += step {
			counts[maxima[at]>>shift]++
			seen++
		}
	}
	left := max(int(float64(seen)*share), 1)
	score := len(counts)
	for score > 0 && left > 0 {
		score--
		left -= int(counts[score])
	}
	return uint16(min(score<<shift, math.MaxUint16))
}
