package audiosearch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/oneline"
)

// The errors that callers tell apart with errors.Is.
var (
	// ErrNotFound: something is not there, or belongs to another organization. What it
	// is, the more specific error says, which is what a backend returns:
	// ErrDatasetNotFound, ErrVideoNotFound or ErrRunNotFound.
	ErrNotFound = errors.New("audiosearch: not found")
	// ErrExists: the organization has a dataset of this ID already. A backend says it of a
	// run, too; the service takes another ID then.
	ErrExists = errors.New("audiosearch: the ID is taken already")
	// ErrTooManyRuns: the organization has as many runs that have not ended as it may
	// have ([Options.MaxWaiting]). Start again when some have ended.
	ErrTooManyRuns = errors.New("audiosearch: too many runs have not ended")
	// ErrFinished: the run has ended, so there is nothing to cancel.
	ErrFinished = errors.New("audiosearch: the run has ended")
	// ErrNotScored: the video has no scores of the model yet. Ingest it.
	ErrNotScored = errors.New("audiosearch: the video is not scored yet")
	// ErrDeleted: the organization was deleted ([Service.DeleteOrganization]).
	ErrDeleted = errors.New("audiosearch: the organization was deleted, " +
		"and its ID is not given again; use another ID")
	// ErrUnavailable: the store, the queue or the scorer failed. Try again.
	ErrUnavailable = errors.New("audiosearch: unavailable")
)

// Problem is one thing wrong with an argument. The fields of its Path have the names that
// they have over HTTP, if they are there.
type Problem struct {
	Path    mortise.Path // "audio_class", "limit", "metadata_filters[2].key", "id", ...
	Kind    ProblemKind
	Message string
}

// ProblemKind says what sort of thing is wrong.
type ProblemKind string

// The kinds of problems.
const (
	ProblemInvalid          ProblemKind = "invalid"           // the argument itself
	ProblemUnsupportedClass ProblemKind = "unsupported_class" // no scorer predicts the class, and no current model has scores of it
	ProblemUnknownKey       ProblemKind = "unknown_key"       // no video of the dataset has the metadata key
	ProblemTooLong          ProblemKind = "string_too_long"   // a key or a value of a filter
	ProblemNotANumber       ProblemKind = "not_a_number"      // the value of a filter that compares numbers
)

// Error says where the problem is, and what it is.
func (p Problem) Error() string { return p.Path.String() + ": " + p.Message }

// Is reports whether another error is the same Problem, for errors.Is.
func (p Problem) Is(target error) bool {
	q, ok := target.(Problem)
	return ok && slices.Equal(p.Path, q.Path) && p.Kind == q.Kind && p.Message == q.Message
}

// ValidationError holds everything that is wrong with an argument.
type ValidationError struct{ Problems []Problem }

// Error lists the problems on one line.
func (e *ValidationError) Error() string {
	if len(e.Problems) == 0 {
		return "audiosearch: invalid request"
	}
	return "audiosearch: invalid request: " + oneline.Of(e.Problems).Error()
}

// Unwrap lets errors.As find the first Problem, and errors.Is any of them.
func (e *ValidationError) Unwrap() []error { return oneline.Of(e.Problems).WrappedErrors() }

// problems collects what is wrong and becomes an error if anything is.
type problems struct {
	found []Problem

	// Of an item of a list: whose problems its own are, and where it stands.
	whole *problems
	list  string
	index int
}

// item returns the problems of an item of a list.
func (p *problems) item(list string, i int) *problems {
	return &problems{whole: p, list: list, index: i}
}

func (p *problems) add(field string, kind ProblemKind, format string, args ...any) {
	var at mortise.Path
	if p.whole != nil {
		at = mortise.Path{{Field: p.list}, {Index: p.index}}
		p = p.whole
	}
	p.append(Problem{at.Field(field), kind, fmt.Sprintf(format, args...)})
}

func (p *problems) append(one Problem) { p.found = append(p.found, one) }

func (p *problems) err() error {
	if len(p.found) == 0 {
		return nil
	}
	return &ValidationError{Problems: p.found}
}

// checkName refuses what no backend should have to store as a name.
func checkName(p *problems, field, value string) {
	if problem := name.Problem(value); problem != "" {
		p.add(field, ProblemInvalid, "%s", problem)
	}
}

// validText reports whether a text can be stored everywhere.
func validText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
