package mortise

import (
	"context"
	"time"
)

// Remover is the part of each domain's store that removes the rows of an organization that
// is marked as deleted. Each domain says what its rows are.
type Remover interface {
	// RemoveDeleted removes rows of an organization that is marked, in an order of its own.
	// It is a bounded step, see package storage. Once it says that no more is left, nothing
	// is left but the mark, which stays, and the audit event that came with the mark, if one
	// did. If the organization is not marked, the error is [ErrNotFound], and nothing is
	// removed. With a limit of 0 it removes nothing: the error alone says whether the
	// organization is marked.
	RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error)
}

// Deletion is a [Remover] whose mark comes without an audit event.
type Deletion interface {
	Remover

	// MarkDeleted marks an organization as deleted, unless it is marked already: then it
	// changes nothing. It returns the time of the mark. The organization need not have
	// anything. Of calls at one time one marks.
	MarkDeleted(ctx context.Context, org string, at time.Time) (since time.Time, err error)
}
