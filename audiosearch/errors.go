package audiosearch

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// The errors of the package, beside [mortise.ErrNotFound], [mortise.ErrExists],
// [mortise.ErrDeleted] and [mortise.ErrUnavailable]. Callers tell them apart by errors.Is.
var (
	// ErrTooManyRuns: the organization has as many runs that have not ended as it may
	// have ([Options.MaxWaiting]). Start again when some have ended.
	ErrTooManyRuns = errors.New("audiosearch: too many runs have not ended")
	// ErrFinished: the run has ended, so there is nothing to cancel.
	ErrFinished = errors.New("audiosearch: the run has ended")
	// ErrNotScored: the video has no scores of the model yet. Ingest it.
	ErrNotScored = errors.New("audiosearch: the video is not scored yet")
)

// The kinds of problems, beside "" for a malformed argument.
const (
	ProblemUnsupportedClass mortise.ProblemKind = "unsupported_class" // no scorer predicts the class, and no current model has scores of it
	ProblemUnknownKey       mortise.ProblemKind = "unknown_key"       // no video of the dataset has the metadata key
	ProblemTooLong          mortise.ProblemKind = "string_too_long"   // a key or a value of a filter
	ProblemNotANumber       mortise.ProblemKind = "not_a_number"      // the value of a filter that compares numbers
)

// problems collects the problems of an argument, or of an item of one of its lists.
type problems struct {
	failure.Problems
	whole *problems    // of an item: the problems of the argument
	at    mortise.Path // of an item
}

// item returns the problems of an item of a list.
func (p *problems) item(list string, i int) *problems {
	return &problems{whole: p, at: mortise.Path{{Field: list}, {Index: i}}}
}

func (p *problems) add(field string, kind mortise.ProblemKind, format string, args ...any) {
	at := p.at.Field(field)
	if p.whole != nil {
		p = p.whole
	}
	p.append(mortise.Problem{Path: at, Kind: kind, Message: fmt.Sprintf(format, args...)})
}

func (p *problems) append(one mortise.Problem) { p.Found = append(p.Found, one) }

// checkName refuses what no backend should have to store as a name.
func checkName(p *problems, field, value string) {
	if problem := name.Problem(value); problem != "" {
		p.add(field, "", "%s", problem)
	}
}

// validText reports whether a text can be stored everywhere.
func validText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
