package audiosearch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// TestProblemsSayWhere: as values, which a program can follow, and as text for people.
func TestProblemsSayWhere(t *testing.T) {
	r := newRig(t, nil)
	many := metadata.Map{}
	for i := range metadata.MaxKeys + 1 {
		many[strings.Repeat("k", i+1)] = metadata.Scalar{}
	}
	ofVideo := func(i int, part, message string) mortise.Problem {
		return mortise.Problem{
			Path: mortise.Path{{Field: "videos"}, {Index: i}, {Field: part}},
			Kind: "", Message: message,
		}
	}
	bad := metadata.Map{"k": metadata.String("\xff")}
	big := metadata.Map{"k": metadata.String(strings.Repeat("x", 70_000))}
	err := r.PutVideos(t.Context(), org, "", "d",
		audiosearch.Video{ID: "", Path: "p"},
		audiosearch.Video{ID: "a", Path: "\xff", Metadata: metadata.Map{"": {}}},
		audiosearch.Video{ID: "a", Path: strings.Repeat("p", 5000), Metadata: many},
		audiosearch.Video{ID: "b", Path: "p", Metadata: bad},
		audiosearch.Video{ID: "c", Path: "p", Metadata: big},
	)
	want := []mortise.Problem{
		ofVideo(0, "id", "must not be empty"),
		ofVideo(1, "path", "must be valid UTF-8"),
		ofVideo(1, "metadata", "keys must be valid UTF-8, not empty, and without U+0000"),
		ofVideo(2, "id", "must not come twice"),
		ofVideo(2, "path", "must be at most 4096 bytes"),
		ofVideo(2, "metadata", "must have at most 1000 keys"),
		ofVideo(3, "metadata", "values must be valid UTF-8"),
		ofVideo(4, "metadata", "must be at most 65536 bytes"),
	}
	var got []mortise.Problem
	var invalid *mortise.ValidationError
	require.ErrorAs(t, err, &invalid)
	for _, e := range invalid.Unwrap() {
		var p mortise.Problem
		require.ErrorAs(t, e, &p)
		got = append(got, p)
		require.ErrorIs(t, err, p)
		p.Kind = audiosearch.ProblemTooLong
		require.NotErrorIs(t, err, p)
	}
	assert.Equal(t, want, got)
	assert.Equal(t, want, invalid.Problems)

	assert.Equal(t, "videos[2].metadata", want[5].Path.String())
	assert.Equal(t, "videos[2].metadata: must have at most 1000 keys", want[5].Error())
	whole := mortise.Problem{Path: mortise.Path{{Field: "limit"}}, Message: "must be 1 to 1000"}
	assert.Equal(t, "limit", whole.Path.String())
	assert.Equal(t, "limit: must be 1 to 1000", whole.Error())
}
