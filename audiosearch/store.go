package audiosearch

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Datasets keeps the datasets. All methods are safe for concurrent use, and atomic.
// Times are UTC and have microseconds. Any failure but the sentinels that are named, an
// ended context included, is an error that is none of them; so it is for all parts of a
// [Store].
type Datasets interface {
	// CreateDataset stores a dataset. If the organization has one of this ID, it is
	// left as it is, and the error is [mortise.ErrExists].
	CreateDataset(ctx context.Context, d Dataset) error

	// Dataset returns a dataset, or [ErrDatasetNotFound].
	Dataset(ctx context.Context, org, id string) (Dataset, error)

	// ListDatasets returns a page of the organization's datasets, by ID, as bytes.
	ListDatasets(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[Dataset], error)

	// DeleteDataset removes a dataset with its videos and their scores, or returns
	// [ErrDatasetNotFound]. Its runs stay.
	DeleteDataset(ctx context.Context, org, id string) error
}

// Catalog keeps the videos of datasets. All methods are safe for concurrent use, and
// atomic; each returns [ErrDatasetNotFound] if there is no such dataset. What comes in
// and goes out is the caller's to change.
type Catalog interface {
	// PutVideos stores videos, all or none, instead of those of the same IDs. No ID comes
	// twice in one call. Where the path of a video changes, its scorings by all models
	// are removed, and its parts ([PartStore]); where it does not, they stay.
	PutVideos(ctx context.Context, org, dataset string, videos []Video) error

	// Videos returns videos by their IDs, in the order of the IDs, without those that are
	// not there. No ID comes twice in one call. It looks for the first so many IDs, one
	// at least, and says for how many: it stops at 1 MiB of metadata beside that of one
	// video. The caller asks for the others again.
	Videos(ctx context.Context, org, dataset string, ids []string) (found []Video, looked int, err error)

	// ListVideos returns a page of the dataset's videos, by ID, as bytes.
	ListVideos(ctx context.Context, org, dataset string, after mortise.Cursor, limit int) (mortise.Page[Video], error)

	// DeleteVideo removes a video with its scorings and parts, or returns
	// [ErrVideoNotFound].
	DeleteVideo(ctx context.Context, org, dataset, id string) error

	// MissingKeys returns those of the keys that no video of the dataset has in its
	// metadata, in the order given, as often as given. A key with null counts as had.
	MissingKeys(ctx context.Context, org, dataset string, keys []string) ([]string, error)
}

// ScoreQuery asks for the best segments of a dataset.
type ScoreQuery struct {
	Model    string            // its ID
	Class    sound.Class       // segments scored without this class are left out
	Filters  []metadata.Filter // valid ones; all must pass. A key that no video has passes none.
	MinScore uint16            // segments below are left out
	Offset   int               // how many to leave out at the top; may be more than there are
	Limit    int               // how many at most, over 0
}

// Hit is a segment found.
type Hit struct {
	Video  string // its ID
	Window int    // which segment of the video, from 0
	Score  uint16
}

// UnscoredQuery asks for videos that a model has yet to score.
type UnscoredQuery struct {
	Model   string            // its ID
	Media   string            // ID of the current media: a video decoded by another one counts as unscored; "": any
	Filters []metadata.Filter // as in [ScoreQuery]
	After   string            // an ID: only greater ones, byte by byte
	Limit   int               // over 0
}

// Unscored is a page of videos that are not wholly scored by a model: they were not tried,
// or there was a problem, or they were decoded by another [sound.Media].
type Unscored struct {
	Videos  []Video // by ID
	Matched int     // how many videos pass the filters, scored ones and those of other pages included
	Without int     // how many of those have no scores at all, those of other pages included
}

// ScoreStore keeps the scores of videos, by model, and ranks them. All methods are safe
// for concurrent use, and atomic; each returns [ErrDatasetNotFound] if there is no such
// dataset.
//
// Scores stand in columns: a search reads those of one class, over many videos. Package
// columnar has what backends build on. What comes in and goes out is the caller's to
// change, but for the Classes that come out. A backend keeps the names of classes with
// the model, and numbers them for itself.
type ScoreStore interface {
	// PutScoring stores what came of scoring a video, instead of what the store has of
	// the same video and model, in one step: a search sees the old scores or the new
	// ones, never both or none. columns is nil with a Problem and no segments. Otherwise
	// columns[i] holds the scores of scoring.Classes[i], one for each of the last
	// segments. Those of the segments before them, if there are any, stand in parts of
	// the same video, path, model, media, digest, window, hop and classes ([PartStore]), as many
	// as PutPart or Parts has said; they become part of the scoring, without being
	// copied. All parts of the video and model are gone then. If the video is gone, its
	// path is not the given one any more, or the parts are not there, nothing is stored,
	// and the error is [ErrConflict]. More parts than are needed may be there: the first
	// ones count, or it is ErrConflict, too. More scores than scoring.Windows are an
	// error, and nothing is stored.
	PutScoring(ctx context.Context, org, dataset, video, path string, scoring Scoring, columns [][]uint16) error

	// Scorings returns what came of scoring some videos by a model, by the IDs of the
	// videos, without those that nobody has tried to score, or that are not there. Their
	// Classes are for reading only: scorings share them.
	Scorings(ctx context.Context, org, dataset, model string, videos []string) (map[string]Scoring, error)

	// Search returns the best segments: score descending, ties by video ID ascending,
	// byte by byte, then by segment ascending. It is exact on the stored scores.
	Search(ctx context.Context, org, dataset string, q ScoreQuery) ([]Hit, error)

	// Unscored returns videos that pass the filters and have no scores by the model, or
	// scores beside a Problem, or scores of another media.
	Unscored(ctx context.Context, org, dataset string, q UnscoredQuery) (Unscored, error)

	// WindowScores returns the scores of segments from to to (exclusive) of a video: one
	// row a segment, with one value for each of the scoring's Classes. The range is cut
	// to what there is, to nothing if need be. [ErrNotScored] if there are none, also if
	// there is no such video.
	WindowScores(ctx context.Context, org, dataset, video, model string, from, to int) ([][]uint16, error)
}

// Part is scores of some segments of a video that is being scored. Nobody sees them
// before the whole video is.
type Part struct {
	Video, Path string
	Model       string        // its ID
	Media       string        // as in [Scoring]
	Digest      [32]byte      // of the file, as in [Scoring]
	Window, Hop time.Duration // of the model
	Classes     []sound.Class // as in [Scoring]
	First       int           // segment
	At          time.Time
}

// PartStore keeps parts of scorings that are being made, so that hours of work outlive a
// process. A video has those of one digest by each model at most. All methods are safe
// for concurrent use, and atomic; each returns [ErrDatasetNotFound] if there is no such
// dataset, and [ErrConflict] if the video is gone or its path is not the part's any more.
type PartStore interface {
	// PutPart stores a part and returns how many segments, from the first of the video
	// on, stand in parts then. columns[i] holds the scores of Classes[i], one for each
	// segment from First on. Parts follow each other without a gap: if First is more than
	// what stands there, nothing is stored, and the error is [ErrConflict]; if it is
	// less, somebody else has stored it, and nothing is stored. A First of 0 replaces
	// parts that differ in media, digest, window, hop or classes.
	PutPart(ctx context.Context, org, dataset string, p Part, columns [][]uint16) (stored int, err error)

	// Parts returns what PutPart would if somebody else had stored the part: how many
	// segments, from the first of the video on, stand in parts like this one. If there
	// are any, they are in use as of At. First does not count.
	Parts(ctx context.Context, org, dataset string, p Part) (stored int, err error)
}

// ModelChange makes a model the current one of its family.
type ModelChange struct {
	Family string
	From   string // the ID of the present one; "": there is none
	To     string // the ID of the new one
	At     time.Time

	// Incomplete changes to the new model though it lacks videos that the old one has.
	Incomplete bool
}

// ModelStore keeps which models the searches of a dataset read: a current one for each
// family. All methods are safe for concurrent use, and atomic; each that takes a dataset
// returns [ErrDatasetNotFound] if there is no such dataset.
type ModelStore interface {
	// Models returns the models that a dataset knows, by ID, byte by byte. One that never
	// was current, and has nothing but problems, may be left out.
	Models(ctx context.Context, org, dataset string) ([]DatasetModel, error)

	// SetModel changes the current model of a family in one step; the one before is
	// replaced then, and the new one is not any more. It changes nothing, and returns
	// [ErrConflict], if From is not the current model, or if there is a video that has
	// scores by From and no scoring by To, unless Incomplete. A backend may return it
	// also because the dataset changed just then. From and To are never the same.
	//
	// A model may be the current one of several families. It is replaced when it is that
	// of none any more.
	SetModel(ctx context.Context, org, dataset string, c ModelChange) error

	// ModelOrder returns the place of a model in the order in which the models of all
	// families were first asked for here, from 1 on. By it a service with an old model
	// does not put that in the place of a newer one. Models are the host's, so the order
	// is one for all organizations and datasets. It is kept for ever.
	ModelOrder(ctx context.Context, family, model string) (int64, error)
}

// Pruner is a [Store] that forgets runs, and tidies up behind its writers. A [Sweeper]
// calls it. All methods are safe for concurrent use, and bounded steps, see package
// storage.
type Pruner interface {
	// PruneRuns removes runs of all organizations that finished before the given time,
	// with their results, which do not count. Runs with a WakeAt stay: their end is still
	// to be told ([Options].OnEnd).
	PruneRuns(ctx context.Context, before time.Time, limit int) (n int, more bool, err error)

	// TrimRuns removes runs that have ended, with their results, which do not count: of
	// each organization it leaves the newest by FinishedAt, as many as keep says. Of two
	// that finished at one time, the one with the smaller ID goes first. Runs that have
	// not ended stay, and do not count. Runs that have ended with a WakeAt stay, and count.
	TrimRuns(ctx context.Context, keep, limit int) (n int, more bool, err error)

	// Compact tidies up, for any organization, in units of its own: rows, or pieces that it
	// writes anew. It changes no answer, except that it removes the rows that the options
	// select.
	Compact(ctx context.Context, opts CompactOptions, limit int) (n int, more bool, err error)
}

// CompactOptions say what [Pruner.Compact] may remove. Zero times remove nothing.
type CompactOptions struct {
	PartsBefore time.Time // parts that nobody has put or asked for since
	// ReplacedBefore removes the scores by models that were replaced before. A current
	// model keeps its own.
	ReplacedBefore time.Time
}

// Store is everything that a service keeps.
type Store interface {
	Datasets
	Catalog
	ScoreStore
	PartStore
	ModelStore
	Runs
	ResultStore
	Counter
	Deletion
}
