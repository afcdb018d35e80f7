package audiosearch

import (
	"errors"

	"github.com/seed-6363c74e/mortise/internal/mark"
	"github.com/seed-6363c74e/mortise/internal/oneline"
)

// VideoProblem says why a video cannot be searched, or not all of it.
type VideoProblem struct {
	Video   string // its ID
	Message string // what to do; names no folder of the machine
	Partly  bool   // what is there of its sound is searched
}

// outcome is what came of looking at a video. What concerns the service, and not this video
// alone, is an error beside it.
type outcome struct {
	kind    outcomeKind
	problem string // why it cannot be searched, or not all of it; "": all of it is
	lasting bool   // the problem is that of the file's content: it stays until that changes
	cause   error  // of the problem; nil: it was found before
}

type outcomeKind uint8

const (
	unsearchable outcomeKind = iota // it has no scores
	newlyScored                     // it has new ones
	unchanged                       // those that it has are those of its file
	moved                           // it was changed or deleted in the catalog meanwhile
	rewritten                       // its file was changed meanwhile
)

// partly reports whether only a part of the video has scores.
func (o *outcome) partly() bool {
	return o.problem != "" && (o.kind == newlyScored || o.kind == unchanged)
}

// failed is the outcome of a video that cannot be read just now.
func failed(err error) *outcome { return &outcome{problem: videoMessage(err), cause: err} }

// broken is the outcome of a video whose file has something wrong with it.
func broken(err error) *outcome {
	return &outcome{problem: videoMessage(err), lasting: true, cause: err}
}

// known is the outcome of a video whose scoring is that of its file.
func known(stored *Scoring) *outcome {
	o := &outcome{kind: unchanged, problem: stored.Problem, lasting: true}
	if !stored.Scored() {
		o.kind = unsearchable
	}
	return o
}

// err is the outcome for an Observer.
func (o *outcome) err() error {
	switch {
	case o.kind == moved:
		return ErrConflict
	case o.problem == "":
		return nil
	case o.cause == nil:
		return errors.New(o.problem)
	}
	return mark.As(errors.New(o.problem), o.cause)
}

// maxVideoMessage bounds what is said of one video, in bytes.
const maxVideoMessage = 300

// videoMessage is one line of bounded length.
func videoMessage(err error) string {
	return oneline.Short(err.Error(), "audiosearch: ", maxVideoMessage)
}

// join makes one outcome of those of a video by two scorers.
func (o *outcome) join(other *outcome) {
	if o.problem == "" {
		o.problem = other.problem
	}
	if other.kind == newlyScored || (o.kind == unsearchable || o.kind == moved) && other.kind == unchanged {
		o.kind = other.kind
	}
}
