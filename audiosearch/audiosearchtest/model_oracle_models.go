package audiosearchtest

import (
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// oracleParts are the parts of a video by a model. The digest stands for all that a part
// has to have in common with them, but for the classes.
type oracleParts struct {
	digest  byte
	classes []sound.Class
	columns [][]uint16
	used    time.Time
}

// like returns how many segments stand in parts like others. There may be no parts.
func (o *oracleParts) like(other *oracleParts) int {
	if o == nil || o.digest != other.digest || !slices.Equal(o.classes, other.classes) {
		return 0
	}
	return len(o.columns[0])
}

// oracleModels is what a dataset knows of its current models.
type oracleModels struct {
	current  map[string]string // by family
	replaced map[string]oracleFormer
}

// oracleFormer is a model that was current.
type oracleFormer struct {
	family string
	at     time.Time
}

func newOracleModels() *oracleModels {
	return &oracleModels{current: make(map[string]string), replaced: make(map[string]oracleFormer)}
}

// families returns those that a model is the current one of.
func (m *oracleModels) families(id string) []string {
	var families []string
	for family, current := range m.current {
		if current == id {
			families = append(families, family)
		}
	}
	return families
}

// set makes a change that is allowed.
func (m *oracleModels) set(c audiosearch.ModelChange) {
	m.current[c.Family] = c.To
	delete(m.replaced, c.To)
	if c.From != "" && len(m.families(c.From)) == 0 {
		m.replaced[c.From] = oracleFormer{c.Family, c.At}
	}
}

// lacks reports whether a video has scores by one model, and nobody tried another.
func (d oracleDataset) lacks(from, to string) bool {
	for _, v := range d {
		if s := v.scorings[from]; s != nil && s.scoring.Windows > 0 && v.scorings[to] == nil {
			return true
		}
	}
	return false
}

// by reports whether there are scorings by a model, and whether any of them has scores.
func (d oracleDataset) by(model string) (tried, scored bool) {
	for _, v := range d {
		if s := v.scorings[model]; s != nil {
			tried, scored = true, scored || s.scoring.Windows > 0
		}
	}
	return tried, scored
}
