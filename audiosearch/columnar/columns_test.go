package columnar

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// texts are values that tempt: metacharacters of SQL, LIKE, JSON and patterns, and
// numbers at the bounds of what a number is.
var texts = []string{
	"", "a", "A", "ab", "%", "_", "a%b", "a_b", "'", `\`, `"`, "' OR 1=1 --", "é", "e\u0301", "日本語", "\U0001F415", "null", "true", "false",
	"0", "-0", "0.0", "00", "1", "1.0", "1.", ".5", "+1", "0.1", "0.10", "1e-1", "1E400", "1e400", "-1e400", "1e-400", "1e401", "9007199254740992",
	"9007199254740993", "9007199254740992.5", "-9007199254740993", " 1", "1 ", "0x10", "NaN", "Infinity", "1e", "1e+2", "100", "1e2", "100.00",
	"1234567890123456789012345678901234567890123456789012345678901234", "12345678901234567890123456789012345678901234567890123456789012345",
	"0.12345678901234567890123456789012345678901234567890123456789012", "2024-05-01",
}

func randomScalar(r *rand.Rand) metadata.Scalar {
	text := texts[r.IntN(len(texts))]
	switch r.IntN(8) {
	case 0:
		return metadata.Scalar{}
	case 1:
		return metadata.Bool(r.IntN(2) == 0)
	case 2:
		return metadata.Int(int64(r.IntN(20) - 10))
	case 3, 4:
		var s metadata.Scalar
		if s.UnmarshalJSON([]byte(text)) == nil {
			return s
		}
	}
	return metadata.String(text)
}

func randomMetadata(r *rand.Rand, keys int) metadata.Map {
	m := metadata.Map{}
	for range r.IntN(keys + 1) {
		m[fmt.Sprint("key", r.IntN(keys))] = randomScalar(r)
	}
	return m
}

func randomFilters(r *rand.Rand, keys int) []metadata.Filter {
	filters := make([]metadata.Filter, r.IntN(4)+r.IntN(2)*r.IntN(5))
	for i := range filters {
		f := metadata.Filter{Key: fmt.Sprint("key", r.IntN(keys+1)), Value: randomScalar(r).Text(), Op: metadata.Ops()[r.IntN(7)]}
		if r.IntN(8) == 0 {
			f.Op = ""
		}
		for f.Op.Numeric() {
			if (metadata.Filter{Value: f.Value, Op: metadata.OpLess}).Check() == nil {
				break
			}
			f.Value = randomScalar(r).Text()
		}
		filters[i] = f
	}
	return filters
}

// oracle does what Filter says, in the plainest way.
func oracle(t testing.TB, filters []metadata.Filter) (passes func(metadata.Map) bool) {
	predicates := make([]func(metadata.Scalar) bool, len(filters))
	for i, f := range filters {
		var err error
		predicates[i], err = f.Predicate()
		require.NoError(t, err)
	}
	return func(m metadata.Map) bool {
		for i, f := range filters {
			if s, found := m[f.Key]; !found || !predicates[i](s) {
				return false
			}
		}
		return true
	}
}

func TestColumnsEqualTheOracle(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		var c Columns
		videos := map[uint32]metadata.Map{}
		keys := 1 + r.IntN(6)
		stride := []int{1, 1, 700, 70_000}[r.IntN(4)]
		size := 1 + r.IntN(300)
		if stride > 1000 {
			size = 1 + size/20
		}
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
				passes := oracle(t, filters)
				selected, err := c.Select(context.Background(), filters)
				require.NoError(t, err)
				var want []uint32
				for row := range uint32(size) {
					m, found := videos[row*uint32(stride)]
					pass := found && passes(m)
					if pass {
						want = append(want, row*uint32(stride))
					}
					if found && pass != selected.Contains(row*uint32(stride)) {
						require.Equal(t, pass, !pass, "seed %d, row %d, %v of %v", seed, row, filters, m)
					}
				}
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

// TestLargeColumnsEqualTheOracle has values with so many rows that sets become bitmaps,
// and columns in which each video has another number, as TestNewFiltersEqualTheOracle has.
func TestLargeColumnsEqualTheOracle(t *testing.T) {
	nightly.Only(t)
	const videos = 100_000
	r := rand.New(rand.NewPCG(3, 3))
	var c Columns
	all := make([]metadata.Map, videos)
	for row := range all {
		all[row] = metadata.Map{
			"half":  metadata.Bool(r.IntN(2) == 0),
			"rare":  metadata.Int(int64(r.IntN(2000))),
			"time":  metadata.Int(r.Int64N(1e12)),
			"title": metadata.String(fmt.Sprintf("take %d of %d%%", r.IntN(30), r.IntN(1e9))),
		}
		if r.IntN(3) == 0 {
			all[row]["odd"] = randomScalar(r)
		}
		c.Set(uint32(row), all[row])
	}
	for _, filters := range [][]metadata.Filter{
		{{Key: "half", Value: "true"}},
		{{Key: "half", Op: metadata.OpNotEqual, Value: "true"}},
		{{Key: "half", Op: metadata.OpNotEqual, Value: "none"}, {Key: "odd", Op: metadata.OpNotEqual, Value: "a"}},
		{{Key: "half", Value: "true"}, {Key: "rare", Op: metadata.OpLess, Value: "1.99e3"}},
		{{Key: "rare", Value: "7"}, {Key: "half", Value: "false"}},
		{{Key: "time", Op: metadata.OpGreaterOrEqual, Value: "5e11"}, {Key: "half", Op: metadata.OpContains, Value: "r"}},
		{{Key: "time", Op: metadata.OpLess, Value: "1e9"}},
		{{Key: "title", Op: metadata.OpContains, Value: "7%"}, {Key: "odd", Op: metadata.OpGreater, Value: "0"}},
	} {
		selected, err := c.Select(context.Background(), filters)
		require.NoError(t, err)
		var want []uint32
		passes := oracle(t, filters)
		for row, m := range all {
			pass := passes(m)
			if pass {
				want = append(want, uint32(row))
			}
			if selected.Contains(uint32(row)) != pass {
				require.Fail(t, "not what Contains says", "%d of %v", row, filters)
			}
		}
		copied := selected.Clone()
		require.Equal(t, want, slices.Collect(selected.Rows()), "%v", filters)
		require.Equal(t, want, slices.Collect(copied.Rows()))
		for _, row := range want[:min(len(want), 100)] {
			require.True(t, selected.Contains(row))
		}
	}
	all[5] = metadata.Map{"half": metadata.Bool(true)}
	selected, err := c.Select(context.Background(), []metadata.Filter{{Key: "half", Value: "true"}})
	require.NoError(t, err)
	before := selected.Clone()
	n := before.Len()
	for row := range uint32(videos) {
		c.Remove(row)
	}
	require.Equal(t, n, before.Len(), "a clone does not change")
	require.Zero(t, c.Len())
	require.False(t, c.HasKey("half"))
	require.Empty(t, c.byKey)
	require.Empty(t, c.rows.blocks)
}

func TestSelectRefusesWhatPredicateRefuses(t *testing.T) {
	var c Columns
	_, err := c.Select(context.Background(), []metadata.Filter{{Key: "none", Op: metadata.OpLess, Value: "x"}})
	require.ErrorContains(t, err, "must be a number")
	_, err = c.Select(context.Background(), []metadata.Filter{{Key: "none", Op: "like", Value: "x"}})
	require.ErrorContains(t, err, "unknown operator")
	var all *Selection
	require.True(t, all.Contains(7))
	require.Zero(t, all.Len())
	require.Empty(t, slices.Collect(all.Rows()))
	require.Nil(t, all.Clone())
}

// TestColumnsReuseWhatIsFree changes the metadata of few videos very often, each time to
// values that were never there.
func TestColumnsReuseWhatIsFree(t *testing.T) {
	var c Columns
	for i := range 20_000 {
		c.Set(uint32(i%50), metadata.Map{
			"number":              metadata.Int(int64(i)),
			"text":                metadata.String(fmt.Sprint("take ", i)),
			fmt.Sprint("key ", i): metadata.Scalar{},
		})
	}
	require.LessOrEqual(t, len(c.columns), 60)
	for _, name := range []string{"number", "text"} {
		col := c.columns[c.byKey[name]]
		require.LessOrEqual(t, len(col.entries), 200)
		require.LessOrEqual(t, len(col.codes), 200)
		require.LessOrEqual(t, col.lenNumbered(), 200)
	}
	selected, err := c.Select(context.Background(), []metadata.Filter{{Key: "number", Op: metadata.OpGreaterOrEqual, Value: "19990"}})
	require.NoError(t, err)
	require.Equal(t, 10, selected.Len())
}

func FuzzSelect(f *testing.F) {
	for _, text := range texts {
		f.Add("key0", "=", text, []byte(`{"key0":`+"1"+`}`))
		f.Add("key0", "contains", text, []byte(`{"key0":"a%b_c'\\","key1":null}`))
		f.Add("key0", "<", text, []byte(`{"key0":9007199254740993}`))
	}
	f.Fuzz(func(t *testing.T, key, op, value string, meta []byte) {
		m, err := metadata.Parse(meta)
		if err != nil {
			return
		}
		var c Columns
		c.Set(3, m)
		c.Set(4, metadata.Map{key: metadata.String(value)})
		c.Set(5, metadata.Map{key: metadata.Scalar{}})
		filter := metadata.Filter{Key: key, Op: metadata.Op(op), Value: value}
		selected, err := c.Select(context.Background(), []metadata.Filter{filter})
		p, err2 := filter.Predicate()
		require.Equal(t, err2 == nil, err == nil)
		if err != nil {
			return
		}
		require.Equal(t, p(m[key]), selected.Contains(3))
		require.Equal(t, p(metadata.String(value)), selected.Contains(4))
		require.False(t, selected.Contains(5))
		require.Equal(t, selected.Contains(3), slices.Contains(slices.Collect(selected.Rows()), 3))
	})
}
