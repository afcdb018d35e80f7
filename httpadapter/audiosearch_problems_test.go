package httpadapter

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// elsewhere is how a problem of what the body does not have is answered: the host is
// told.
var elsewhere = []string{"503"}

type problemCall = func(context.Context, *audiosearch.Service) error

// problemCase is a call of the service that finds something wrong.
type problemCase struct {
	name string
	call problemCall
	text string   // of the error
	want []string // the details of the answer, or elsewhere
}

// startOf starts a search that has what change does.
func startOf(change func(*audiosearch.Query)) problemCall {
	return func(ctx context.Context, s *audiosearch.Service) error {
		q := audiosearch.Query{Dataset: "calls", Class: "Silence"}
		change(&q)
		_, err := s.Start(ctx, "acme", "", q)
		return err
	}
}

func startOfFilters(filters ...metadata.Filter) problemCall {
	return startOf(func(q *audiosearch.Query) { q.Filters = filters })
}

// putOf puts a video after one that is fine.
func putOf(v audiosearch.Video) problemCall {
	return func(ctx context.Context, s *audiosearch.Service) error {
		return s.PutVideos(ctx, "acme", "", "calls", audiosearch.Video{ID: "fine", Path: "fine.mp4"}, v)
	}
}

func withMetadata(value metadata.Scalar) audiosearch.Video {
	return audiosearch.Video{ID: "b", Path: "b", Metadata: metadata.Map{"year": value}}
}

var problemCases = []problemCase{
	{"the class is none", startOf(func(q *audiosearch.Query) { q.Class = "" }),
		"audio_class: must not be empty",
		[]string{"body.audio_class value_error: Value error, must not be empty"}},
	{"the class is not known", startOf(func(q *audiosearch.Query) { q.Class = "Bark" }),
		`audio_class: cannot be found by this server, which knows: Dial tone; Silence`,
		[]string{`body.audio_class unsupported_class: ` +
			`Cannot be found by this server, which knows: Dial tone; Silence`}},
	{"numbers", startOf(func(q *audiosearch.Query) { q.Limit, q.Offset = -1, -1 }),
		"limit: must be 1 to 1000; offset: must be 0 or more",
		[]string{
			"body.limit value_error: Value error, must be 1 to 1000",
			"body.offset value_error: Value error, must be 0 or more",
		}},
	{"too many filters", startOfFilters(make([]metadata.Filter, 101)...),
		"metadata_filters: must be at most 100",
		[]string{"body.metadata_filters value_error: Value error, must be at most 100"}},
	{"filters", startOfFilters(
		metadata.Filter{Key: "year", Value: "1"},
		metadata.Filter{Key: "nobody", Value: "1"},
		metadata.Filter{Key: "year", Value: "x", Op: ">"},
		metadata.Filter{Key: "year", Op: "~"},
		metadata.Filter{Key: strings.Repeat("k", 4097), Value: strings.Repeat("v", 4097)}),
		"metadata_filters[2].value: must be a number, because the operator is >; " +
			"metadata_filters[3].op: is no operator; " +
			"metadata_filters[4].key: string should have at most 4096 bytes; " +
			"metadata_filters[4].value: string should have at most 4096 bytes; " +
			"metadata_filters[1].key: no video of the dataset has this metadata key",
		[]string{
			"body.metadata_filters.2.value not_a_number: Must be a number, because the operator is >",
			"body.metadata_filters.3.op value_error: Value error, is no operator",
			"body.metadata_filters.4.key string_too_long: String should have at most 4096 bytes",
			"body.metadata_filters.4.value string_too_long: String should have at most 4096 bytes",
			"body.metadata_filters.1.key unknown_key: No video of the dataset has this metadata key",
		}},
	{"the score is no field of the body",
		startOf(func(q *audiosearch.Query) { q.MinScore, q.Limit = 2, -1 }),
		"limit: must be 1 to 1000; min_score: must be 0 to 1", elsewhere},
	{"the model is no field of the body", startOf(func(q *audiosearch.Query) { q.Model = "other/1" }),
		"model: is the model of no scorer here, and the dataset has no scores by it", elsewhere},
	{"a dataset", func(ctx context.Context, s *audiosearch.Service) error {
		_, err := s.CreateDataset(ctx, "acme", "", "")
		return err
	}, "id: must not be empty", elsewhere},
	{"a video", putOf(audiosearch.Video{Metadata: metadata.Map{"": metadata.Int(1)}}),
		"videos[1].id: must not be empty; videos[1].path: must not be empty; " +
			"videos[1].metadata: keys must be valid UTF-8, not empty, and without U+0000", elsewhere},
	{"metadata of other values", putOf(withMetadata(metadata.String("\xff"))),
		"videos[1].metadata: values must be valid UTF-8", elsewhere},
	{"much metadata", putOf(withMetadata(metadata.String(strings.Repeat("v", 64<<10)))),
		"videos[1].metadata: must be at most 65536 bytes", elsewhere},
	{"a video twice", putOf(audiosearch.Video{ID: "fine", Path: "other.mp4"}),
		"videos[1].id: must not come twice", elsewhere},
	{"many videos", func(ctx context.Context, s *audiosearch.Service) error {
		return s.PutVideos(ctx, "acme", "", "calls", make([]audiosearch.Video, 1001)...)
	}, "videos: must be at most 1000 at a time", elsewhere},
	{"the best of a stretch", func(ctx context.Context, s *audiosearch.Service) error {
		_, err := s.Top(ctx, "acme", "calls", "b", time.Second, 0, 0)
		return err
	}, "to: must be after from, which must be 0 or more; n: must be 1 to 10000", elsewhere},
	{"no folder", func(ctx context.Context, s *audiosearch.Service) error {
		_, err := folder.Sync(ctx, s, "acme", "", "calls", nil, &folder.SyncOptions{Under: ".."})
		return err
	}, "files: must not be nil; " + `under: must be the path of a folder, such as "calls/2024", or empty`, elsewhere},
	{"a folder for no service", func(ctx context.Context, _ *audiosearch.Service) error {
		_, err := folder.Sync(ctx, nil, "acme", "", "calls", fstest.MapFS{}, nil)
		return err
	}, "service: must not be nil", elsewhere},
	{"a list of runs", func(ctx context.Context, s *audiosearch.Service) error {
		_, err := s.ListRuns(ctx, "acme", audiosearch.RunQuery{Limit: 1001, State: "LOST"})
		return err
	}, "limit: must be between 1 and 1000; state: is no state of a run", elsewhere},
	{"a model of nobody", func(ctx context.Context, s *audiosearch.Service) error {
		return s.UseModel(ctx, "acme", "", "calls", "other/1")
	}, "model: is the model of no scorer here, and was never a current one of the dataset", elsewhere},
}

// answerOf is how an error is answered, as text.
func answerOf(t *testing.T, err error) (lines []string) {
	p, known := audioSearchErrors.classify(err)
	if !known {
		require.Equal(t, problem{kind: unavailable}, p)
		return elsewhere
	}
	require.Equal(t, invalid, p.kind)
	for _, d := range p.details {
		steps := make([]string, len(d.Loc))
		for i, step := range d.Loc {
			steps[i] = fmt.Sprint(step)
		}
		lines = append(lines, strings.Join(steps, ".")+" "+d.Type+": "+d.Msg)
	}
	return lines
}

// TestEveryProblemOfTheServiceIsAnswered: those of the body's fields say where they stand
// in it, and the others are the host's.
func TestEveryProblemOfTheServiceIsAnswered(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	s, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{
		Scorers: []sound.Scorer{describedScorer{}}, Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)},
	})
	require.NoError(t, err)
	_, err = s.CreateDataset(t.Context(), "acme", "", "calls")
	require.NoError(t, err)
	require.NoError(t, s.PutVideos(t.Context(), "acme", "", "calls", withMetadata(metadata.Int(2024))))
	seen := map[string]bool{}
	for _, c := range problemCases {
		err := c.call(t.Context(), s)
		var failure *mortise.ValidationError
		require.ErrorAs(t, err, &failure, c.name)
		require.EqualError(t, err, "mortise: invalid request: "+c.text, c.name)
		require.Equal(t, c.want, answerOf(t, err), c.name)
		for _, one := range failure.Problems {
			for _, step := range one.Path {
				seen[step.Field] = true
			}
		}
	}
	// No field of which the service may say something is without a case.
	files, err := filepath.Glob(filepath.Join("..", "audiosearch", "*.go"))
	require.NoError(t, err)
	ofFolders, err := filepath.Glob(filepath.Join("..", "audiosearch", "folder", "*.go"))
	require.NoError(t, err)
	files = append(files, ofFolders...)
	named := regexp.MustCompile(
		`(?:add|item|check|checkName|checkPath)\((?:&?\w+, )?"(\w+)"|Field: "(\w+)"`)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range named.FindAllStringSubmatch(string(source), -1) {
			found++
			require.True(t, seen[match[1]+match[2]], "%s: there is no case of %s", file, match[1]+match[2])
		}
	}
	require.GreaterOrEqual(t, found, 30, "the service says it otherwise now")
}
