package audiosearch

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// Result is a segment that a search found.
type Result struct {
	VideoID  string
	Path     string       // of the video, as the catalog had it
	Metadata metadata.Map // of the video; results of one video share it

	Start, End time.Duration // from the start of the video; whole milliseconds
	Keyframe   Keyframe      // the one nearest to Start
	Score      float64       // in [0,1], as stored: a multiple of 1/65535
	Moderation *float64      // in [0,1]; nil without
}

// Keyframe is a picture of a video.
type Keyframe struct {
	ImageID string        // names it within the dataset
	At      time.Duration // whole milliseconds
}

// ResultStore keeps what runs found, apart from the runs, so that much of it can be
// written before a run ends, in pieces that hold up nobody. An attempt at a run puts
// videos, and then results, into a set that it alone knows; the update that ends the run
// names the set ([Run.ResultSet]). Nobody sees a set before, and what is in those that no
// run names is forgotten when their run has ended. All methods are safe for concurrent
// use. What comes in and goes out is the caller's to change.
//
// PutResultVideos and PutResults return [ErrRunNotFound] if there is no such run, and
// [ErrFinished] if it has ended; then nothing is stored. After another error a part may
// be stored: put the same again.
type ResultStore interface {
	// PutResultVideos adds videos to a set, as they are now: its results show them so,
	// whatever becomes of them. A video whose ID the set has already stays as it is
	// there.
	PutResultVideos(ctx context.Context, org string, run int64, set uuid.UUID, videos []Video) error

	// PutResults puts the results of a set in place of those that it has. Their Path
	// and Metadata are ignored: those of the set's video count. If the set lacks a
	// video, it is an error that is not a sentinel.
	PutResults(ctx context.Context, org string, run int64, set uuid.UUID, results []Result) error

	// RunResults returns the results of the set that a run names, in their order, from
	// a place on; the first one's is 0. It returns some of them at a time, 100 at most,
	// with at most 1 MiB of metadata beside that of one video, but at least one; none
	// if there are no more, or the run names no set. The error is [ErrRunNotFound] if
	// there is no such run.
	RunResults(ctx context.Context, org string, run int64, from int) ([]Result, error)
}
