package audiosearchtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// name returns one of few IDs, so that sequences come back to videos.
func (r *run) name() string {
	if r.IntN(3) == 0 {
		return pick(r, orderedNames...)
	}
	return fmt.Sprint("video ", r.IntN(30))
}

// key returns one of few keys.
func (r *run) key() string {
	if r.IntN(4) > 0 {
		return pick(r, "n", "n", "k")
	}
	return pick(r, "K", "a.b", "$[0]", "%", "_", "it's", `"`, `\`, "e\u0301", "\u00e9", " ")
}

// metadata returns some values.
func (r *run) metadata() map[string]oracleValue {
	m := make(map[string]oracleValue)
	for range r.IntN(8) {
		m[r.key()] = r.value()
	}
	return m
}

// value returns a value of any kind, most often one of the few that the sequence has, so
// that filters find more than one video.
func (r *run) value() oracleValue {
	if len(r.values) == 0 {
		r.values = append(r.values, oracleValue{'s', pick(r, "", "1", "a") + "\x00" + pick(r, "", "1", "b")}, oracleValue{'s', "50% of a_b"})
	}
	if len(r.values) < 12 {
		r.values = append(r.values, r.newValue())
	}
	if r.IntN(5) > 0 {
		return pick(r, r.values...)
	}
	return r.newValue()
}

func (r *run) newValue() oracleValue {
	switch r.IntN(10) {
	case 0:
		return oracleValue{'0', "null"}
	case 1:
		return oracleValue{'b', pick(r, "true", "false")}
	case 2, 3, 4, 5:
		return oracleValue{'n', r.number()}
	case 6, 7:
		return oracleValue{'s', r.number()}
	}
	return oracleValue{'s', r.text()}
}

// number returns what JSON takes for a number, now and then one that filters do not
// compare.
func (r *run) number() string {
	switch r.IntN(4) {
	case 0:
		return fmt.Sprint(r.IntN(7) - 3)
	case 1: // a small number in one of many ways
		sign, digits := pick(r, "", "-"), pick(r, "0", "1", "10", "12", "100")
		fraction := pick(r, "", "", ".0", ".5", ".50", ".05", "."+strings.Repeat("0", r.IntN(70)+1)+pick(r, "", "1"))
		exponent := pick(r, "", "", "e0", "E0", "e+2", "e-2", "e2", "e02", "E-0", "e399", "e-399", "e400", "e-400", "e401", "e0000400")
		return sign + digits + fraction + exponent
	case 2: // neighbours beyond the digits of a float64
		whole := pick(r, "9007199254740992", "9007199254740993", "12345678901234567890123456789", "0")
		return pick(r, "", "-") + whole + pick(r, "", "", ".0", ".1", ".10", ".10000000000000000001", ".00000000000000000001")
	}
	return pick(r, "0", "-0", "0.0", "0e400", "0e401", "1", "1.0", "1e0", "1e2", "100", "1e308", "1.8e308", "1e309", "5e-324", "2e-324", "1e-325",
		strings.Repeat("9", 64), strings.Repeat("9", 65), "1."+strings.Repeat("0", 62), "1."+strings.Repeat("0", 63))
}

// text returns a string, often one that looks like something else, or has signs with a
// meaning elsewhere.
func (r *run) text() string {
	if r.IntN(2) == 0 {
		var b strings.Builder
		for range r.IntN(5) {
			b.WriteString(pick(r, "a", "b", "A", "%", "_", `\`, "'", `"`, "\x00", "\u00e9", "e\u0301", "\U0001F436", " ", "1", ".", "*", "[", "\n"))
		}
		return b.String()
	}
	return pick(r, "", " ", "a", "A", "ab", "true", "false", "null", "01", "+1", ".5", "1.", "1e", "1e+", "--1", "Infinity", "-Infinity", "NaN", "0x1", "1_0", " 1", "1 ", "1\n",
		"\u0661", "' OR ''='", "%", "_", `\%`, "\x00", "1\x00", "\u00c4\u00d6", "\u00e4\u00f6", "\ufffd", strings.Repeat("ab", 500))
}

// filters returns up to three filters, most of which some video of the dataset has to do
// with.
func (r *run) filters(d oracleDataset) []oracleFilter {
	var all []oracleFilter
	for range pick(r, 0, 1, 1, 1, 2, 3) {
		f := oracleFilter{key: r.key(), op: string(pick(r, append(metadata.Ops(), "", contains, contains)...)), value: r.value().text}
		if ids := d.matching(nil); len(ids) > 0 && r.IntN(4) > 0 {
			m := d[pick(r, ids...)].metadata
			for _, key := range slices.Sorted(maps.Keys(m)) {
				if f.key, f.value = key, m[key].text; r.IntN(3) == 0 {
					break
				}
			}
		}
		if r.IntN(30) == 0 {
			f.key = pick(r, "nobody", "N", "n ")
		}
		switch f.op {
		case "contains": // a part of it
			from := r.IntN(len(f.value) + 1)
			f.value = r.disguised(strings.ToValidUTF8(f.value[from:from+r.IntN(len(f.value)-from+1)], ""))
		case "=", "!=", "":
			f.value = r.disguised(f.value)
		case "<", "<=", ">", ">=":
			for oracleRat(f.value) == nil {
				f.value = pick(r, r.value().text, r.number())
			}
		}
		all = append(all, f)
	}
	return all
}

// disguised returns a text, now and then one that is another, and the same for who folds
// case, or takes signs for patterns.
func (r *run) disguised(text string) string {
	switch r.IntN(6) {
	case 0:
		return strings.ToUpper(text)
	case 1:
		return strings.ToLower(text)
	case 2, 3:
		i := strings.IndexFunc(text, func(c rune) bool { return c >= ' ' && c < utf8.RuneSelf })
		if i >= 0 {
			return text[:i] + pick(r, "%", "%", "_", "*") + text[i+1:]
		}
	}
	return text
}

// domain returns the filters as the domain has them.
func domain(filters []oracleFilter) []metadata.Filter {
	var all []metadata.Filter
	for _, f := range filters {
		all = append(all, metadata.Filter{Key: f.key, Value: f.value, Op: metadata.Op(f.op)})
	}
	return all
}
