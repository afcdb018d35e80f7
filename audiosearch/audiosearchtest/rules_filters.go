package audiosearchtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// filterCase says whether a video passes that has a value under the key "k".
type filterCase struct {
	value string // of the video, as JSON; "" is none
	op    metadata.Op
	with  string
	pass  bool
}

// passes makes one video for each value, and requires that each case finds its video or not.
func passes(t *testing.T, s *subject, cases []filterCase) {
	t.Helper()
	s.makeDataset(t, orgA, setA)
	made := make(map[string]bool)
	for _, c := range cases {
		if made[c.value] {
			continue
		}
		made[c.value] = true
		m := metadata.Map{"other": metadata.String(c.with)}
		if c.value != "" {
			m["k"] = number(c.value)
		}
		v := video("is "+c.value, m)
		s.put(t, orgA, setA, v)
		s.score(t, orgA, setA, v, modelX, "7", 1)
	}
	for _, c := range cases {
		found := s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Filters: []metadata.Filter{{Key: "k", Value: c.with, Op: c.op}}})
		got := slices.ContainsFunc(found, func(h audiosearch.Hit) bool { return h.Video == "is "+c.value })
		require.Equal(t, c.pass, got, "whether %s passes k %s %q", c.value, c.op, c.with)
	}
}

const (
	eq, ne, contains = metadata.OpEqual, metadata.OpNotEqual, metadata.OpContains
	gt, lt, ge, le   = metadata.OpGreater, metadata.OpLess, metadata.OpGreaterOrEqual, metadata.OpLessOrEqual
)

// filterRules say which videos pass a filter.
var filterRules = []rule{
	{Rule{"filters/text", "= != and contains compare text: that of a string, or what is written in JSON (3, 3.0 and true are \"3\", \"3.0\" and \"true\")."}, needScores,
		func(t *testing.T, s *subject) {
			passes(t, s, []filterCase{
				{`3`, eq, "3", true}, {`3.0`, eq, "3", false}, {`3.0`, eq, "3.0", true}, {`"3"`, eq, "3", true}, {`"3"`, eq, `"3"`, false},
				{`true`, eq, "true", true}, {`"true"`, eq, "true", true}, {`true`, eq, "TRUE", false}, {`false`, eq, "true", false}, {`1e2`, eq, "100", false},
				{`1e2`, eq, "1e2", true}, {`1E2`, eq, "1e2", false}, {`-0`, eq, "0", false}, {`-0`, eq, "-0", true}, {`""`, eq, "", true}, {`0`, eq, "", false},
				{`3`, ne, "3", false}, {`3.0`, ne, "3", true}, {`"3"`, ne, "3", false}, {`true`, ne, "false", true}, {`false`, ne, "false", false}, {`""`, ne, "", false}, {`""`, ne, "x", true},
				{`3.0`, contains, ".", true}, {`3`, contains, ".", false}, {`1e2`, contains, "e", true}, {`true`, contains, "ru", true}, {`"3"`, contains, `"`, false},
				{`"a dog"`, contains, "dog", true}, {`"a dog"`, contains, "Dog", false}, {`"a dog"`, contains, "", true}, {`""`, contains, "", true}, {`""`, contains, "x", false},
				{`3`, contains, "", true}, {`"a dog"`, contains, "a dog!", false},
			})
		}},

	{Rule{"filters/default-op", "The zero Op is =."}, needScores,
		func(t *testing.T, s *subject) {
			passes(t, s, []filterCase{{`"a"`, "", "a", true}, {`"ab"`, "", "a", false}, {`1`, "", "1", true}, {`1.0`, "", "1", false}})
		}},

	{Rule{"filters/missing-and-null", "A video without the key, or with null there, does not pass, whatever the operator: != included."}, needScores,
		func(t *testing.T, s *subject) {
			var cases []filterCase
			for _, value := range []string{"", "null"} {
				for _, op := range append(metadata.Ops(), "") {
					for _, with := range []string{"0", "-1", "1"} {
						cases = append(cases, filterCase{value, op, with, false})
					}
				}
				for _, with := range []string{"", "null", "x"} {
					cases = append(cases, filterCase{value, eq, with, false}, filterCase{value, ne, with, false}, filterCase{value, contains, with, false})
				}
			}
			passes(t, s, append(cases, filterCase{`0`, eq, "0", true}))
		}},

	{Rule{"filters/bytes", "Text is compared byte by byte: no letter stands for another, and no sign has a meaning."}, needScores,
		func(t *testing.T, s *subject) {
			var cases []filterCase
			texts := append(slices.Clone(exactNames), "%", "_", `\`, `'`, `"`, "*", "?", "[a-z]", "a\x00b", "a", "\x00", "' OR 1=1 --", "\u0130", "i", "\u00df", "ss")
			for _, text := range texts {
				for _, with := range texts {
					value, _ := metadata.String(text).MarshalJSON()
					cases = append(cases, filterCase{string(value), eq, with, text == with}, filterCase{string(value), ne, with, text != with},
						filterCase{string(value), contains, with, strings.Contains(text, with)})
				}
			}
			passes(t, s, cases)
		}},

	{Rule{"filters/numbers", "> < >= <= compare numbers, also strings that read as one; values that are none do not pass."}, needScores,
		func(t *testing.T, s *subject) {
			passes(t, s, []filterCase{
				{`3`, gt, "2", true}, {`3`, gt, "3", false}, {`3`, gt, "4", false}, {`3`, lt, "4", true}, {`3`, lt, "3", false}, {`3`, lt, "2", false},
				{`3`, ge, "3", true}, {`3`, ge, "3.5", false}, {`3`, le, "3", true}, {`3`, le, "2.5", false}, {`3`, ge, "3.0", true}, {`3.0`, le, "3", true},
				{`10`, gt, "9", true}, {`"10"`, gt, "9", true}, {`"9"`, lt, "10", true}, {`-10`, lt, "-9", true}, {`-1`, gt, "1", false}, {`-0`, ge, "0", true}, {`-0`, lt, "0", false},
				{`1e2`, ge, "100", true}, {`1e2`, le, "100", true}, {`1e2`, gt, "99.9", true}, {`"1E+2"`, ge, "100", true}, {`"1.50"`, ge, "15e-1", true}, {`"1.50"`, gt, "15e-1", false},
				{`"ten"`, gt, "0", false}, {`"ten"`, lt, "0", false}, {`true`, ge, "0", false}, {`true`, le, "1", false}, {`""`, ge, "0", false}, {`""`, le, "0", false},
				{`" 5"`, ge, "0", false}, {`"5 "`, ge, "0", false}, {`"+5"`, ge, "0", false}, {`"05"`, ge, "0", false}, {`".5"`, ge, "0", false}, {`"5."`, ge, "0", false},
				{`"0x5"`, ge, "0", false}, {`"1_000"`, ge, "0", false}, {`"Infinity"`, gt, "0", false}, {`"NaN"`, ge, "0", false},
				{`"1e"`, ge, "0", false}, {`"5\u0000"`, ge, "0", false}, {`"\u0665"`, ge, "0", false},
			})
		}},

	{Rule{"filters/exact-numbers", "Numbers are compared exactly, however close, great or small they are."}, needScores,
		func(t *testing.T, s *subject) {
			passes(t, s, []filterCase{
				{`9007199254740993`, gt, "9007199254740992", true}, {`9007199254740993`, le, "9007199254740992", false}, {`9007199254740993`, ge, "9007199254740993.0", true},
				{`0.1`, gt, "0.09999999999999999999999999999999999999", true}, {`0.1`, lt, "0.10000000000000000000000000000000000001", true}, {`0.1`, le, "1e-1", true},
				{`1e400`, gt, "1e399", true}, {`1e400`, gt, "9.99e399", true}, {`1e400`, lt, "1e400", false}, {`1e400`, gt, "1", true}, {`-1e400`, lt, "-1e399", true}, {`-1e400`, gt, "-1e399", false},
				{`1e-400`, gt, "0", true}, {`1e-400`, lt, "1e-399", true}, {`1e-400`, ge, "1e-399", false}, {`-1e-400`, lt, "0", true}, {`-1e-400`, gt, "-1e-399", true},
				{`0e400`, ge, "0", true}, {`0e400`, le, "-0.0", true}, {`0e400`, lt, "1e-400", true}, {`12345678901234567890.5`, lt, "12345678901234567890.6", true},
			})
		}},

	{Rule{"filters/bounds-of-numbers", "What is longer than 64 characters, or has an exponent over 400, is no number; as text it is compared like any other."}, needScores,
		func(t *testing.T, s *subject) {
			longest, tooLong := "1."+strings.Repeat("0", 62), "1."+strings.Repeat("0", 63)
			passes(t, s, []filterCase{
				{longest, ge, "1", true}, {tooLong, ge, "1", false}, {tooLong, le, "1", false}, {tooLong, eq, tooLong, true}, {tooLong, ne, longest, true}, {tooLong, contains, longest, true},
				{`"` + longest + `"`, ge, "1", true}, {`"` + tooLong + `"`, ge, "1", false},
				{`1e401`, gt, "0", false}, {`1e401`, lt, "0", false}, {`1e401`, eq, "1e401", true}, {`1e-401`, ge, "0", false}, {`0e401`, ge, "0", false}, {`1e0400`, gt, "1e399", true},
			})
		}},

	{Rule{"filters/all-must-pass", "All filters must pass, also several of one key."}, needScores,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			for i, m := range []metadata.Map{
				{"n": metadata.Int(1), "c": metadata.String("red")}, {"n": metadata.Int(2), "c": metadata.String("red")},
				{"n": metadata.Int(3), "c": metadata.String("blue")}, {"n": metadata.Int(4)}, {"c": metadata.String("red")},
			} {
				v := s.put(t, orgA, setA, video(string(rune('0'+i)), m))
				s.score(t, orgA, setA, v, modelX, "7", uint16(i))
			}
			f := func(key string, op metadata.Op, value string) metadata.Filter {
				return metadata.Filter{Key: key, Op: op, Value: value}
			}
			for _, c := range []struct {
				filters []metadata.Filter
				want    []string
			}{
				{nil, []string{"4 0 4", "3 0 3", "2 0 2", "1 0 1", "0 0 0"}},
				{[]metadata.Filter{f("c", eq, "red")}, []string{"4 0 4", "1 0 1", "0 0 0"}},
				{[]metadata.Filter{f("c", eq, "red"), f("n", gt, "0")}, []string{"1 0 1", "0 0 0"}},
				{[]metadata.Filter{f("n", gt, "1"), f("n", lt, "4")}, []string{"2 0 2", "1 0 1"}},
				{[]metadata.Filter{f("n", gt, "1"), f("n", ne, "3"), f("c", contains, "e")}, []string{"1 0 1"}},
				{[]metadata.Filter{f("n", eq, "1"), f("n", eq, "2")}, []string{}},
				{slices.Repeat([]metadata.Filter{f("n", ge, "3")}, 100), []string{"3 0 3", "2 0 2"}},
			} {
				require.Equal(t, c.want, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Filters: c.filters})), "%v", c.filters)
			}
		}},

	{Rule{"filters/unknown-key", "A key that no video has passes none; keys are the same if every byte is, whatever signs they have."}, needScores,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			for i, key := range exactNames {
				v := s.put(t, orgA, setA, video(key, metadata.Map{key: metadata.String("x"), "n": metadata.Int(int64(i))}))
				s.score(t, orgA, setA, v, modelX, "7", 1)
			}
			for _, key := range exactNames {
				require.Equal(t, []string{key + " 0 1"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Filters: []metadata.Filter{{Key: key, Value: "x"}}})))
			}
			for _, key := range []string{"nobody", "N", "", "%", "a.b"} {
				for _, op := range metadata.Ops() {
					require.Empty(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "7", Filters: []metadata.Filter{{Key: key, Op: op, Value: "1"}}}), "%q", key)
				}
			}
		}},

	{Rule{"filters/follow-changes", "Filters go by the metadata as it is now."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			for _, v := range videos {
				s.score(t, orgA, setA, v, modelX, "7", 10)
			}
			red := audiosearch.ScoreQuery{Class: "7", Filters: []metadata.Filter{{Key: "c", Value: "red"}}}
			require.Empty(t, s.search(t, orgA, setA, red))
			for _, c := range []struct{ colour, found string }{{"red", "v 0 10"}, {"blue", ""}, {"red", "v 0 10"}} {
				s.put(t, orgA, setA, video("v", metadata.Map{"c": metadata.String(c.colour)}))
				require.Equal(t, c.found, strings.Join(hits(s.search(t, orgA, setA, red)), ","), c.colour)
			}
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"))
			require.Empty(t, s.search(t, orgA, setA, red))
		}},
}
