package mortise

import (
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise/internal/oneline"
)

// The errors that all domains share. Callers tell them apart by errors.Is. A domain has
// further errors of its own; some of these match one of the errors here, too.
var (
	// ErrNotFound: the object does not exist, or belongs to another organization.
	ErrNotFound = errors.New("mortise: not found")
	// ErrExists: the ID, or the digest of the secret, is taken already.
	ErrExists = errors.New("mortise: already exists")
	// ErrDeleted: the organization, or the vault, was deleted. Its ID is never reused.
	ErrDeleted = errors.New("mortise: deleted, and its ID is never reused; use another ID")
	// ErrUnavailable: a store, a queue or another part that a host plugs in failed.
	// Whether the call took effect is unknown. Look, or try again.
	ErrUnavailable = errors.New("mortise: unavailable")
)

// Problem is one thing that is wrong with an argument. Its message never repeats the
// argument's content.
type Problem struct {
	// Path names the fields as they are named over HTTP, if they are there (but for
	// "after", which is the cursor of a page):
	// "instructions", "tables[0].columns[2].format", "roles[2].role_id", "limit".
	Path    Path
	Kind    ProblemKind // "" for a malformed argument
	Message string
}

// ProblemKind tells programs the sort of a Problem. Package audiosearch declares kinds of its
// own. The Problems of the other domains have "".
type ProblemKind string

// Error names the place of the problem, and then the problem.
func (p Problem) Error() string { return p.Path.String() + ": " + p.Message }

// Is reports whether another error is the same Problem, for errors.Is.
func (p Problem) Is(target error) bool {
	q, ok := target.(Problem)
	return ok && slices.Equal(p.Path, q.Path) && p.Kind == q.Kind && p.Message == q.Message
}

// ValidationError holds every problem of the arguments of a call. Such a call has changed
// nothing.
type ValidationError struct{ Problems []Problem }

// Error lists the problems on one line.
func (e *ValidationError) Error() string {
	if len(e.Problems) == 0 {
		return "mortise: invalid request"
	}
	return "mortise: invalid request: " + oneline.Of(e.Problems).Error()
}

// Unwrap lets errors.As find the first Problem, and errors.Is any of them.
func (e *ValidationError) Unwrap() []error { return oneline.Of(e.Problems).WrappedErrors() }
