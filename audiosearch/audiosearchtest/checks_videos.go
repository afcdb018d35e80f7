package audiosearchtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

const (
	setA = "set-a"
	setB = "set-b"
)

const (
	modelX = "x/1"
	modelY = "y/1"
	mediaM = "media/1"
	mediaN = "media/2"
)

// exactNames are names that are not the same, though a collation may think so.
var exactNames = []string{"acme", "ACME", "acme ", " acme", "acm", "acme/", "acm_", "acm%", "acm\u00e9", "acme\u0301", "a'c\"m\\e", "acme.b", "$.acme"}

// orderedNames are in the order of their bytes, which is not that of a dictionary, of
// numbers, or of UTF-16.
var orderedNames = []string{" ", "!", "%", "-1", "10", "9", "B", "Z", "_", "a", "aa", "b", "e\u0301", "z", "\u00e9", "\u0416", "\uffee", "\U0001F436"}

// makeDataset creates a dataset.
func (s *subject) makeDataset(t *testing.T, org, id string) audiosearch.Dataset {
	t.Helper()
	d := audiosearch.Dataset{Organization: org, ID: id, CreatedAt: moment(0)}
	require.NoError(t, s.Datasets.CreateDataset(t.Context(), d))
	return d
}

// sameDataset compares all fields. Times must be the same instant, and in UTC.
func sameDataset(t *testing.T, want, got audiosearch.Dataset) {
	t.Helper()
	conformance.SameTime(t, "CreatedAt", want.CreatedAt, &got.CreatedAt)
	conformance.Same(t, want, got)
}

// number returns the scalar that is written so.
func number(text string) metadata.Scalar {
	var n metadata.Scalar
	if err := n.UnmarshalJSON([]byte(text)); err != nil {
		panic(err) // of the suite's own text
	}
	return n
}

// video returns a video whose path follows from its ID.
func video(id string, metadata metadata.Map) audiosearch.Video {
	return audiosearch.Video{ID: id, Path: "videos/" + id + ".mp4", Metadata: metadata}
}

// put stores videos in a dataset, and returns the first one.
func (s *subject) put(t *testing.T, org, dataset string, videos ...audiosearch.Video) audiosearch.Video {
	t.Helper()
	require.NoError(t, s.Catalog.PutVideos(t.Context(), org, dataset, cloneVideos(videos)))
	return videos[0]
}

func cloneVideos(videos []audiosearch.Video) []audiosearch.Video {
	videos = slices.Clone(videos)
	for i := range videos {
		m := metadata.Map{}
		for k, v := range videos[i].Metadata {
			m[k] = v
		}
		videos[i].Metadata = m
	}
	return videos
}

// sameVideo compares all fields. Metadata without entries is none.
func sameVideo(t *testing.T, want, got audiosearch.Video) {
	t.Helper()
	if len(want.Metadata) == 0 && len(got.Metadata) == 0 {
		want.Metadata, got.Metadata = nil, nil
	}
	conformance.Same(t, want, got)
}

// oneVideo returns a video, or ErrVideoNotFound.
func (s *subject) oneVideo(ctx context.Context, org, dataset, id string) (audiosearch.Video, error) {
	found, _, err := s.Catalog.Videos(ctx, org, dataset, []string{id})
	if err == nil && len(found) == 0 {
		err = audiosearch.ErrVideoNotFound
	}
	if err != nil {
		return audiosearch.Video{}, err
	}
	return found[0], nil
}

// oneScoring returns what came of scoring a video by a model, or ErrNotScored.
func (s *subject) oneScoring(ctx context.Context, org, dataset, video, model string) (audiosearch.Scoring, error) {
	found, err := s.Scores.Scorings(ctx, org, dataset, model, []string{video})
	if err != nil {
		return audiosearch.Scoring{}, err
	}
	scoring, ok := found[video]
	if !ok {
		return audiosearch.Scoring{}, audiosearch.ErrNotScored
	}
	return scoring, nil
}

// hasVideo requires that the dataset has the video as it is.
func (s *subject) hasVideo(t *testing.T, org, dataset string, want audiosearch.Video) {
	t.Helper()
	got, err := s.oneVideo(t.Context(), org, dataset, want.ID)
	require.NoError(t, err, "Video %q", want.ID)
	sameVideo(t, want, got)
}

// list returns all videos of a dataset, on one page.
func (s *subject) list(t *testing.T, org, dataset string) []audiosearch.Video {
	t.Helper()
	page, err := s.Catalog.ListVideos(t.Context(), org, dataset, "", mortise.MaxPageSize)
	require.NoError(t, err)
	require.Empty(t, page.Next, "Next of the last page")
	return page.Items
}

// videoIDs returns the IDs of videos, in their order.
func videoIDs(videos []audiosearch.Video) []string {
	return conformance.Each(videos, func(x *audiosearch.Video) string { return x.ID })
}

// everyKind is metadata with scalars of every kind, some of which look alike.
func everyKind() metadata.Map {
	return metadata.Map{
		"null": {}, "true": metadata.Bool(true), "false": metadata.Bool(false), "word true": metadata.String("true"), "word null": metadata.String("null"),
		"one": number("1"), "one point zero": number("1.0"), "one hundred": number("1e2"), "minus zero": number("-0"), "big": number("9007199254740993"),
		"huge": number("1E+400"), "tiny": number("-1.5e-400"), "long": number("0." + strings.Repeat("3", 200)), "word one": metadata.String("1"),
		"empty": metadata.String(""), "space": metadata.String(" 1 "), "zero byte": metadata.String("a\x00b"), "quotes": metadata.String(`'"\`),
		"like": metadata.String("50%_"), "umlaut": metadata.String("\u00c4\u0308 \U0001F436"), "lines": metadata.String("a\nb\tc\u2028"),
		"e\u0301": metadata.Int(2), "\u00e9": metadata.Int(1), "a.b": metadata.Int(3), "$[0]": metadata.Int(4), `"k"`: metadata.Int(5), "ONE": metadata.Int(6), " ": metadata.Int(7),
	}
}

// scoring returns what a model made of a sound of so many segments.
func scoring(model string, windows int, classes ...sound.Class) audiosearch.Scoring {
	return audiosearch.Scoring{
		Model: model, FileSize: 1000, FileTime: moment(-time.Hour), Digest: [32]byte{1, 2}, Media: mediaM, At: moment(0), Start: 7250 * time.Millisecond,
		Duration: time.Duration(windows-1)*2*time.Second + 1234*time.Millisecond, Window: 10 * time.Second, Hop: 2 * time.Second, Windows: windows,
		HasVideo: true, Keyframes: []time.Duration{0, 1500 * time.Millisecond}, Classes: classes,
	}
}

// vocabulary returns so many classes.
func vocabulary(n int) []sound.Class {
	classes := make([]sound.Class, n)
	for i := range classes {
		classes[i] = sound.Class("sound " + strconv.Itoa(n-i)) // in no order of the alphabet
	}
	return classes
}

// problem returns the scoring of a file that cannot be searched.
func problem(model, text string) audiosearch.Scoring {
	return audiosearch.Scoring{Model: model, FileSize: 7, FileTime: moment(-time.Hour), Digest: [32]byte{9}, Media: mediaM, At: moment(0), Problem: text}
}

// partly returns the scoring of a file of which only a part can be searched.
func partly(model, text string, windows int, classes ...sound.Class) audiosearch.Scoring {
	s := scoring(model, windows, classes...)
	s.Problem = text
	return s
}

// columns returns scores by class and segment: those of the first class as they are, and
// those of others by another rule.
func columns(scores []uint16, classes int) [][]uint16 {
	all := make([][]uint16, classes)
	for c := range all {
		all[c] = slices.Clone(scores)
		for i := range all[c] {
			all[c][i] -= uint16(c * 7919)
		}
	}
	return all
}

// score stores scores of a video for one class.
func (s *subject) score(t *testing.T, org, dataset string, v audiosearch.Video, model string, class sound.Class, scores ...uint16) {
	t.Helper()
	s.putScoring(t, org, dataset, v, scoring(model, len(scores), class), [][]uint16{scores})
}

func (s *subject) putScoring(t *testing.T, org, dataset string, v audiosearch.Video, sc audiosearch.Scoring, columns [][]uint16) {
	t.Helper()
	require.NoError(t, s.Scores.PutScoring(t.Context(), org, dataset, v.ID, v.Path, sc, columns))
}

// sameScoring compares all fields. Times must be the same instant, and in UTC.
func sameScoring(t *testing.T, want, got audiosearch.Scoring) {
	t.Helper()
	conformance.SameTime(t, "At", want.At, &got.At)
	conformance.SameTime(t, "FileTime", want.FileTime, &got.FileTime)
	if len(want.Keyframes) == 0 && len(got.Keyframes) == 0 {
		want.Keyframes, got.Keyframes = nil, nil
	}
	if len(want.Classes) == 0 && len(got.Classes) == 0 {
		want.Classes, got.Classes = nil, nil
	}
	conformance.Same(t, want, got)
}

// hasScoring requires that a video has the scoring as it is.
func (s *subject) hasScoring(t *testing.T, org, dataset, id string, want audiosearch.Scoring) {
	t.Helper()
	got, err := s.oneScoring(t.Context(), org, dataset, id, want.Model)
	require.NoError(t, err, "Scorings of %q", id)
	sameScoring(t, want, got)
}

// notScored requires that there are no scores of a video by a model, nor a problem.
func (s *subject) notScored(t *testing.T, org, dataset, id, model string) {
	t.Helper()
	_, err := s.oneScoring(t.Context(), org, dataset, id, model)
	require.ErrorIs(t, err, audiosearch.ErrNotScored, "Scorings of %q by %q", id, model)
	_, err = s.Scores.WindowScores(t.Context(), org, dataset, id, model, 0, 10)
	require.ErrorIs(t, err, audiosearch.ErrNotScored, "WindowScores of %q by %q", id, model)
}

// search returns the hits of a query. A Limit of 0 is one that all fit in.
func (s *subject) search(t *testing.T, org, dataset string, q audiosearch.ScoreQuery) []audiosearch.Hit {
	t.Helper()
	q.Limit = cmp.Or(q.Limit, 100_000)
	q.Model = cmp.Or(q.Model, modelX)
	hits, err := s.Scores.Search(t.Context(), org, dataset, q)
	require.NoError(t, err)
	return hits
}

// hits returns the segments found in a short form: "video window score".
func hits(of []audiosearch.Hit) []string {
	list := make([]string, 0, len(of))
	for _, h := range of {
		list = append(list, fmt.Sprint(h.Video, " ", h.Window, " ", h.Score))
	}
	return list
}

// windows returns the rows of scores of a video.
func (s *subject) windows(t *testing.T, org, dataset, id, model string, from, to int) [][]uint16 {
	t.Helper()
	rows, err := s.Scores.WindowScores(t.Context(), org, dataset, id, model, from, to)
	require.NoError(t, err)
	return rows
}
