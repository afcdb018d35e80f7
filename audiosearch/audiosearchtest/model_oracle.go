package audiosearchtest

import (
	"bytes"
	"math/big"
	"regexp"
	"sort"
	"strconv"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// The oracle says what a backend must answer. It is written from the contract, plainly,
// and shares no code with the domain: a mistake there, or in a backend that builds on it,
// is not a mistake here too.

// oracleValue is a metadata value.
type oracleValue struct {
	kind byte   // 'n' number, 's' string, 'b' boolean, '0' null
	text string // a string without quotes, others as written in JSON
}

// scalar returns the value as the domain has it.
func (v oracleValue) scalar() metadata.Scalar {
	if v.kind == 's' {
		return metadata.String(v.text)
	}
	return number(v.text) // reads true, false and null too
}

// oracleNumber is the grammar of RFC 8259, section 6.
var oracleNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?([0-9]+))?$`)

// oracleRat returns the number that a text is, nil if it is none that filters compare.
func oracleRat(text string) *big.Rat {
	parts := oracleNumber.FindStringSubmatch(text)
	if parts == nil || len(text) > 64 {
		return nil
	}
	if exponent, ok := new(big.Int).SetString("0"+parts[4], 10); !ok || exponent.Cmp(big.NewInt(400)) > 0 {
		return nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// passes reports whether a video with these values under the keys passes a filter.
func (f oracleFilter) passes(metadata map[string]oracleValue) bool {
	v, has := metadata[f.key]
	if !has || v.kind == '0' {
		return false
	}
	switch f.op {
	case "=", "":
		return v.text == f.value
	case "!=":
		return v.text != f.value
	case "contains":
		return bytes.Contains([]byte(v.text), []byte(f.value))
	}
	if v.kind == 'b' {
		return false
	}
	have, want := oracleRat(v.text), oracleRat(f.value)
	if have == nil {
		return false
	}
	switch order := have.Cmp(want); f.op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

// oracleFilter is a filter.
type oracleFilter struct{ key, op, value string }

// oracleVideo is a video with what models made of it.
type oracleVideo struct {
	path     string
	metadata map[string]oracleValue
	scorings map[string]*oracleScoring
	parts    map[string]*oracleParts // by model
}

// oracleScoring is a scoring with its scores.
type oracleScoring struct {
	scoring audiosearch.Scoring
	columns [][]uint16 // by class of the scoring, then by segment
}

// oracleDataset is a dataset.
type oracleDataset map[string]*oracleVideo

// matching returns the IDs of the videos that pass all filters, in their order.
func (d oracleDataset) matching(filters []oracleFilter) []string {
	ids := []string{}
video:
	for id, v := range d {
		for _, f := range filters {
			if !f.passes(v.metadata) {
				continue video
			}
		}
		ids = append(ids, id)
	}
	sort.Strings(ids) // Go compares strings byte by byte
	return ids
}

// ranking returns every segment that a query finds, best first, without regard to its
// offset and limit.
func (d oracleDataset) ranking(model string, class sound.Class, filters []oracleFilter, least uint16) []audiosearch.Hit {
	all := []audiosearch.Hit{}
	for _, id := range d.matching(filters) {
		s := d[id].scorings[model]
		if s == nil {
			continue
		}
		for c := range s.scoring.Classes {
			if s.scoring.Classes[c] != class {
				continue
			}
			for i, score := range s.columns[c] {
				if score >= least {
					all = append(all, audiosearch.Hit{Video: id, Window: i, Score: score})
				}
			}
		}
	}
	// Videos came in order, and segments of each in theirs: a stable sort leaves ties so.
	sort.SliceStable(all, func(i, j int) bool { return all[i].Score > all[j].Score })
	return all
}

// unscored returns the IDs of the videos that pass the filters and are not wholly scored
// by a model, of a media if one is named, how many pass, and how many of these have no
// scores.
func (d oracleDataset) unscored(model, media string, filters []oracleFilter) (ids []string, matched, without int) {
	all := d.matching(filters)
	for _, id := range all {
		s := d[id].scorings[model]
		if s == nil || s.scoring.Problem != "" || media != "" && s.scoring.Media != media {
			ids = append(ids, id)
		}
		if s == nil || s.scoring.Windows == 0 {
			without++
		}
	}
	return ids, len(all), without
}

// rows returns the scores of the segments of a video from one to another.
func (s *oracleScoring) rows(from, to int) [][]uint16 {
	rows := [][]uint16{}
	for i := range s.scoring.Windows {
		if i < from || i >= to {
			continue
		}
		var row []uint16
		for c := range s.columns {
			row = append(row, s.columns[c][i])
		}
		rows = append(rows, row)
	}
	return rows
}

// missing returns those of the keys that no video has.
func (d oracleDataset) missing(keys []string) []string {
	missing := []string{}
key:
	for _, key := range keys {
		for _, v := range d {
			if _, has := v.metadata[key]; has {
				continue key
			}
		}
		missing = append(missing, key)
	}
	return missing
}

// page returns the part of a list of IDs that follows one, limit at most.
func page(ids []string, after string, limit int) []string {
	part := []string{}
	for _, id := range ids {
		if id > after && len(part) < limit {
			part = append(part, id)
		}
	}
	return part
}

func (f oracleFilter) String() string { return f.key + " " + f.op + " " + strconv.Quote(f.value) }
