package audiosearch

import (
	"context"
	"time"
)

// Dataset is a collection of videos.
type Dataset struct {
	Organization string
	ID           string // 1 to 255 bytes, chosen by the organization
	CreatedAt    time.Time
}

// Video is an entry of the catalog.
type Video struct {
	ID       string // unique in its dataset, 1 to 255 bytes
	Path     string // what [Files] finds the bytes by
	Metadata Metadata
}

// Datasets keeps the datasets. All methods are safe for concurrent use, and atomic. Times are UTC and have microseconds. Any failure but the
// sentinels that are named, an ended context included, is an error that is none of them; so it is for all parts of a [Store].
type Datasets interface {
	// CreateDataset stores a dataset. If the organization has one of this ID, it is left as it is, and the error is [ErrExists].
	CreateDataset(ctx context.Context, d Dataset) error

	// Dataset returns a dataset, or [ErrDatasetNotFound].
	Dataset(ctx context.Context, org, id string) (Dataset, error)

	// ListDatasets returns at most limit datasets of the organization whose IDs are greater than after, byte by byte, in that order.
	ListDatasets(ctx context.Context, org, after string, limit int) ([]Dataset, error)

	// DeleteDataset removes a dataset with its videos and their scores, or returns [ErrDatasetNotFound]. Its runs stay.
	DeleteDataset(ctx context.Context, org, id string) error
}

// Catalog keeps the videos of datasets. All methods are safe for concurrent use, and atomic; each returns [ErrDatasetNotFound] if there is no
// such dataset. What comes in and goes out is the caller's to change.
type Catalog interface {
	// PutVideos stores videos, all or none, instead of those of the same IDs. No ID comes twice in one call. Where the path of a video changes,
	// its scorings by all models are removed; where it does not, they stay.
	PutVideos(ctx context.Context, org, dataset string, videos []Video) error

	// Video returns a video, or [ErrVideoNotFound].
	Video(ctx context.Context, org, dataset, id string) (Video, error)

	// ListVideos returns at most limit videos whose IDs are greater than after, byte by byte, in that order.
	ListVideos(ctx context.Context, org, dataset, after string, limit int) ([]Video, error)

	// DeleteVideo removes a video with its scorings, or returns [ErrVideoNotFound].
	DeleteVideo(ctx context.Context, org, dataset, id string) error

	// MissingKeys returns those of the keys that no video of the dataset has in its metadata, in the order given, as often as given. A key with null
	// counts as had.
	MissingKeys(ctx context.Context, org, dataset string, keys []string) ([]string, error)
}

// FileState tells whether a file has changed.
type FileState struct {
	Size    int64
	ModTime time.Time // microseconds, UTC
	Digest  [32]byte  // SHA-256 of the content
}

// Scoring is what came of scoring one video by one model: scores, or the reason why there are none; both if only a part of the file is there.
type Scoring struct {
	Model   string // its ID
	File    FileState
	At      time.Time
	Problem string // why the file cannot be searched, or not all of it; "" if all of it was scored. If nothing was, all below is zero.

	Duration  time.Duration   // of the sound, whole milliseconds
	Window    time.Duration   // of the model
	Hop       time.Duration   // of the model
	Windows   int             // how many segments; segment i begins at i*Hop
	HasVideo  bool            // if not, there is a keyframe at the start of each segment
	Keyframes []time.Duration // ascending, whole milliseconds
	Classes   []Class         // that have scores, ascending
}

// Scored reports whether there are scores.
func (s *Scoring) Scored() bool { return s.Problem == "" || s.Windows > 0 }

// Span returns when segment i begins and ends.
func (s *Scoring) Span(i int) (start, end time.Duration) {
	start = (time.Duration(i) * s.Hop).Round(time.Millisecond)
	return start, min((time.Duration(i)*s.Hop + s.Window).Round(time.Millisecond), max(s.Duration, start))
}

// ScoreUnit is what 1 is in stored scores: they have 16 bits.
const ScoreUnit = 65535

// Quantize returns the stored form of a score: the nearest multiple of 1/65535. What is no number is 0.
func Quantize(score float32) uint16 {
	switch {
	case !(score > 0): // NaN too
		return 0
	case score >= 1:
		return ScoreUnit
	}
	return uint16(float64(score)*ScoreUnit + 0.5)
}

// ScoreQuery asks for the best segments of a dataset.
type ScoreQuery struct {
	Model    string   // its ID
	Class    Class    // segments scored without this class are left out
	Filters  []Filter // valid ones; all must pass. A key that no video has passes none.
	MinScore uint16   // segments below are left out
	Offset   int      // how many to leave out at the top; may be more than there are
	Limit    int      // how many at most, over 0
}

// Hit is a segment found.
type Hit struct {
	Video  string // its ID
	Window int    // which segment of the video, from 0
	Score  uint16
}

// UnscoredQuery asks for videos that a model has yet to score.
type UnscoredQuery struct {
	Model   string   // its ID
	Filters []Filter // as in [ScoreQuery]
	After   string   // an ID: only greater ones, byte by byte
	Limit   int      // over 0
}

// Unscored is a page of videos that are not wholly scored by a model: nobody tried, or there was a problem.
type Unscored struct {
	Videos  []Video // by ID
	Matched int     // how many videos pass the filters, scored ones and those of other pages included
}

// ScoreStore keeps the scores of videos, by model, and ranks them. All methods are safe for concurrent use, and atomic; each returns
// [ErrDatasetNotFound] if there is no such dataset.
//
// Scores stand in columns: a search reads those of one class, over many videos. Package columnar has what backends build on. What comes in and goes
// out is the caller's to change.
type ScoreStore interface {
	// PutScoring stores what came of scoring a video, instead of what the store has of the same video and model, in one step: a search sees
	// the old scores or the new ones, never both or none. columns[i] holds the scores of scoring.Classes[i], one for each segment; it is nil with a
	// Problem and no segments. If the video is gone, or its path is not the given one any more, nothing is stored, and the error is [ErrConflict].
	PutScoring(ctx context.Context, org, dataset, video, path string, scoring Scoring, columns [][]uint16) error

	// Scoring returns what came of scoring a video by a model, or [ErrNotScored]; also if there is no such video.
	Scoring(ctx context.Context, org, dataset, video, model string) (Scoring, error)

	// Search returns the best segments: score descending, ties by video ID ascending, byte by byte, then by segment ascending. It is exact on the stored scores.
	Search(ctx context.Context, org, dataset string, q ScoreQuery) ([]Hit, error)

	// Unscored returns videos that pass the filters and have no scores by the model, or scores beside a Problem.
	Unscored(ctx context.Context, org, dataset string, q UnscoredQuery) (Unscored, error)

	// WindowScores returns the scores of segments from to to (exclusive) of a video: one row a segment, with one value for each of the scoring's
	// Classes. The range is cut to what there is, to nothing if need be. [ErrNotScored] if there are none, also if there is no such video.
	WindowScores(ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error)
}

// Compactor is a ScoreStore that tidies up behind its writers. [Worker.Run] calls it.
type Compactor interface {
	// Compact does one bounded step of what is to be done, for any organization, and reports whether there is more. It changes no answer.
	Compact(ctx context.Context) (more bool, err error)
}

// Store is everything that a service keeps.
type Store interface {
	Datasets
	Catalog
	ScoreStore
	Runs
	ResultStore
}
