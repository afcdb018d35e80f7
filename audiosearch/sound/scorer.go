package sound

import "context"

// Scores are the scores of one clip: one value in [0,1] for each of [Model.Classes], in
// that order.
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
