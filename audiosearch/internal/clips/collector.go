package clips

import (
	"fmt"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Unit is what 1 is in stored scores: they have 16 bits.
const Unit = 65535

// Quantize returns the stored form of a score: the nearest multiple of 1/65535. What is
// no number is 0.
func Quantize(score float32) uint16 {
	switch {
	case !(score > 0): // NaN too
		return 0
	case score >= 1:
		return Unit
	}
	return uint16(float64(score)*Unit + 0.5)
}

// Ceil returns the least stored score that is not below min, or Unit if all are.
func Ceil(min float64) uint16 {
	for q := int(min * Unit); q < Unit; q++ {
		if float64(q)/Unit >= min {
			return uint16(q)
		}
	}
	return Unit
}

// Collector keeps scores as they are stored, in columns.
type Collector struct {
	Columns [][]uint16 // one for each class, with a score for each window

	classes int
}

// NewCollector returns a Collector for so many classes.
func NewCollector(classes int) *Collector {
	return &Collector{classes: classes, Columns: make([][]uint16, classes)}
}

// Windows returns how many windows it has scores of.
func (c *Collector) Windows() int {
	if c.classes == 0 {
		return 0
	}
	return len(c.Columns[0])
}

// Reset forgets the scores.
func (c *Collector) Reset() {
	for i := range c.Columns {
		c.Columns[i] = c.Columns[i][:0]
	}
}

// Add takes the scores of so many clips, a row for each. Its error says how the scorer
// broke its contract. The Collector is of no use after that.
func (c *Collector) Add(rows []sound.Scores, clips int) error {
	if len(rows) != clips {
		return sound.Permanent(fmt.Errorf("the scorer returned %d rows of scores for %d clips", len(rows), clips))
	}
	for _, row := range rows {
		if len(row) != c.classes {
			return sound.Permanent(fmt.Errorf("the scorer returned %d scores for %d classes", len(row), c.classes))
		}
		for i, score := range row {
			if !(score >= 0 && score <= 1) {
				return sound.Permanent(fmt.Errorf("the scorer returned a score that is not in [0,1]: %v", score))
			}
			c.Columns[i] = append(c.Columns[i], Quantize(score))
		}
	}
	return nil
}
