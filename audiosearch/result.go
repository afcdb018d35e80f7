package audiosearch

import (
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// Result is a segment that a search found.
type Result struct {
	VideoID  string
	Path     string       // of the video, as the catalog had it
	Metadata metadata.Map // of the video; results of one video share it

	// VideoStart is the time of the video's own clock at its start, 0 for most; see
	// [sound.Info]. Whole milliseconds.
	VideoStart time.Duration

	Start, End time.Duration // from the start of the video; whole milliseconds
	Keyframe   Keyframe      // the one nearest to Start
	Score      float64       // in [0,1], as stored: a multiple of 1/65535
	Moderation *float64      // in [0,1]; nil without
}

// Keyframe is a picture of a video.
type Keyframe struct {
	// ImageID names it within the dataset: the ID of the video, "@", and At in
	// milliseconds. Who serves pictures cuts it at its last "@".
	ImageID string

	At time.Duration // whole milliseconds
}
