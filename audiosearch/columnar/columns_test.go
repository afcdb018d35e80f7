package columnar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// texts are values that tempt: metacharacters of SQL, LIKE, JSON and patterns, and numbers at the bounds of what a number is.
var texts = []string{
	"", "a", "A", "ab", "%", "_", "a%b", "a_b", "'", `\`, `"`, "' OR 1=1 --", "é", "e\u0301", "日本語", "\U0001F415", "null", "true", "false",
	"0", "-0", "0.0", "00", "1", "1.0", "1.", ".5", "+1", "0.1", "0.10", "1e-1", "1E400", "1e400", "-1e400", "1e-400", "1e401", "9007199254740992",
	"9007199254740993", "9007199254740992.5", "-9007199254740993", " 1", "1 ", "0x10", "NaN", "Infinity", "1e", "1e+2", "100", "1e2", "100.00",
	"1234567890123456789012345678901234567890123456789012345678901234", "12345678901234567890123456789012345678901234567890123456789012345",
	"0.12345678901234567890123456789012345678901234567890123456789012", "2024-05-01",
}

func randomScalar(r *rand.Rand) audiosearch.Scalar {
	text := texts[r.IntN(len(texts))]
	switch r.IntN(8) {
	case 0:
		return audiosearch.Scalar{}
	case 1:
		return audiosearch.Bool(r.IntN(2) == 0)
	case 2:
		return audiosearch.Int(int64(r.IntN(20) - 10))
	case 3, 4:
		if s, err := audiosearch.ParseScalar([]byte(text)); err == nil {
			return s
		}
	}
	return audiosearch.String(text)
}

func randomMetadata(r *rand.Rand, keys int) audiosearch.Metadata {
	m := audiosearch.Metadata{}
	for range r.IntN(keys + 1) {
		m[fmt.Sprint("key", r.IntN(keys))] = randomScalar(r)
	}
	return m
}

func randomFilters(r *rand.Rand, keys int) []audiosearch.Filter {
	filters := make([]audiosearch.Filter, r.IntN(4))
	for i := range filters {
		f := audiosearch.Filter{Key: fmt.Sprint("key", r.IntN(keys+1)), Value: randomScalar(r).Text(), Op: audiosearch.Ops()[r.IntN(7)]}
		if r.IntN(8) == 0 {
			f.Op = ""
		}
		for f.Op.Numeric() {
			if _, ok := audiosearch.ParseDecimal(f.Value); ok {
				break
			}
			f.Value = randomScalar(r).Text()
		}
		filters[i] = f
	}
	return filters
}

// passes is the oracle: what Filter says, in the plainest way.
func passes(t testing.TB, m audiosearch.Metadata, filters []audiosearch.Filter) bool {
	for _, f := range filters {
		p, err := f.Predicate()
		require.NoError(t, err)
		if s, found := m[f.Key]; !found || !p.Match(s) {
			return false
		}
	}
	return true
}

func TestColumnsEqualTheOracle(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		var c Columns
		videos := map[uint32]audiosearch.Metadata{}
		keys := 1 + r.IntN(6)
		stride := []int{1, 1, 700, 70_000}[r.IntN(4)]
		size := 1 + r.IntN(300)
		for range 12 {
			for range r.IntN(2 * size) {
				row := uint32(r.IntN(size) * stride)
				if r.IntN(3) == 0 {
					c.Remove(row)
					delete(videos, row)
				} else {
					videos[row] = randomMetadata(r, keys)
					c.Set(row, videos[row])
				}
			}
			require.Equal(t, len(videos), c.Len())
			for range 20 {
				filters := randomFilters(r, keys)
				selected, err := c.Select(filters)
				require.NoError(t, err)
				var want []uint32
				for row, m := range videos {
					if passes(t, m, filters) {
						want = append(want, row)
						require.True(t, selected.Contains(row), "%d of %v", row, filters)
					}
				}
				slices.Sort(want)
				require.Equal(t, want, slices.Collect(selected.Rows()), "seed %d, filters %v", seed, filters)
				require.Equal(t, len(want), selected.Len())
			}
			for key := range keys + 1 {
				name, had := fmt.Sprint("key", key), false
				for _, m := range videos {
					if _, found := m[name]; found {
						had = true
					}
				}
				require.Equal(t, had, c.HasKey(name))
			}
		}
	}
}
