package audiosearch

import (
	"context"
	"iter"
	"slices"
	"time"
)

// Model says what a [Scorer] takes and gives.
type Model struct {
	// ID names the model and everything that its scores depend on: its kind, the version of
	// the code that prepares its input, and a digest of its weights
	// ("ast/1/sha256:...", "signal/3"). Scores are kept for each file and model ID; another
	// ID means that all is scored again. It is a name: 1 to 255 bytes.
	ID string

	// Family names the model without what changes when it is made better: "ast", "signal".
	// Of the models of a family, searches read the scores of one at a time. A new one takes
	// the place of the old one in a dataset when it has scored what the old one has. It is a
	// name, like ID.
	Family string

	SampleRate int           // of the clips, in Hz
	Window     time.Duration // length of a segment
	Hop        time.Duration // from the start of a segment to that of the next one; at most Window
	Classes    []Class       // those that it predicts, in the order of its scores: 1 to MaxClasses, each once
	Batch      int           // clips that it likes to be given at a time; 0: 8
}

// Predicts reports whether the model gives scores for a class.
func (m *Model) Predicts(c Class) bool {
	return slices.Contains(m.Classes, c)
}

// Scores are the scores of one clip: one value in [0,1] for each of [Model.Classes], in that order.
type Scores []float32

// Scorer says how much each segment sounds like each class. It is safe for concurrent use.
type Scorer interface {
	// Model describes the model. It may ask a remote server, and the answer may change
	// between calls; a service asks before each video. Its errors mean what those of
	// Score mean.
	Model(ctx context.Context) (Model, error)

	// Score scores clips of mono samples in [-1,1] at the model's rate, and returns one
	// Scores for each, in order. A clip is as long as the window, never longer, but for
	// the last one of a video, which ends where the video ends: a scorer pads it as its
	// model was trained, so that padding is never taken for a sound of the video. A
	// clip has one sample at least. Clips are for reading only: they may overlap in
	// memory, and belong to the caller, who overwrites them after the call.
	//
	// The scores of a clip do not depend on the others of its batch, but for rounding.
	// Samples that are no numbers give an error, or scores in [0,1] all the same. An
	// error, such as that of an ended context, means that none was scored. It is tried
	// again with the next attempt at the run; [RetryAfter] says when. One that is
	// [Permanent] ends the run.
	Score(ctx context.Context, clips [][]float32) ([]Scores, error)
}

// Info is what a media file says of itself.
type Info struct {
	Duration  time.Duration   // as written in the file; 0: unknown. What counts in the end is what is decoded.
	HasVideo  bool            // besides sound; a cover picture is no video
	Keyframes []time.Duration // when the pictures that can be shown without decoding others are shown, ascending from the start of the sound; empty without video
}

// Media decodes files. It is safe for concurrent use.
//
// Files come from anywhere, so a Media bounds time, bytes and duration, reads nothing but
// the file that it was given, and never panics. Its errors say what to do. Who searches
// sees their texts, in [Run].Message, so they name no machine, no folder and no secret.
// (What a [Scorer] or a store says is for the log only.) One that says what is wrong with
// the content of the file is wrapped by [BadMedia]: then the file is not tried again
// until it changes. One for a kind of file that another Media may be able to read is
// [ErrFormat]. The error of an ended context, or of a program that is missing, is
// neither.
type Media interface {
	// Probe reads the header of a file, and its keyframes.
	Probe(ctx context.Context, path string) (Info, error)

	// PCM decodes the sound: mono, the average of all channels, resampled to rate, in
	// blocks of any length that are valid until the next one. Nothing but the block at
	// hand is in memory. An error comes with a nil block and is the last element. A
	// file without sound is an error. If the error is [Incomplete], the sound before it
	// counts: it is searched, and the error is shown beside the results until the file
	// changes.
	//
	// A service decodes on a goroutine of its own, ahead of the scorer by the samples of one
	// batch, and by 4 Mi samples at most. It ends ctx when it needs no more.
	PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error]
}

// Files finds the bytes of a video.
type Files interface {
	// Local returns the name of a local file that holds what the catalog calls path, and
	// keeps it there until release is called. It may download it. The file is a real one:
	// the service looks at its size and time, and reads it. A path that leads nowhere, or
	// to where it must not lead, is [BadMedia]. Without an error, release is not nil, and
	// called once. The texts of errors are shown as those of a [Media] are.
	Local(ctx context.Context, org, path string) (file string, release func(), err error)
}

// SameFiles is a Files that notices when another file is put in the place of one that
// is being read. Without it, only a change of the file itself is noticed.
type SameFiles interface {
	Files

	// Same reports whether a file that Local returned, and that is not released yet, is
	// still the one that path leads to.
	Same(org, path, file string) bool
}

// Moderator says how far segments that are to be shown are fit to be shown.
type Moderator interface {
	// Moderate returns a score in [0,1] for each result, in order. An error leaves all
	// of them without one.
	Moderate(ctx context.Context, org string, results []Result) ([]float64, error)
}
