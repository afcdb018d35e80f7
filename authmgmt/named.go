package authmgmt

import (
	"errors"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// namedError is an error of a call about one thing, with the thing's name. Observers and
// logs get the error without it: a caller may have written a secret where the ID belongs.
type namedError struct {
	err  error
	what string // "client"
	id   string
	or   string // what else it may be
}

// Error writes the name when it is read, so that who looks at the kind alone pays
// nothing.
func (e *namedError) Error() string {
	return e.err.Error() + ": " + e.what + " " + name.Quote(e.id) + e.or
}

func (e *namedError) Unwrap() error { return e.err }

// of names what is missing, or is there already.
func of(what, id string, err error) error {
	if id != "" && (errors.Is(err, mortise.ErrNotFound) || errors.Is(err, mortise.ErrExists)) {
		return &namedError{err: err, what: what, id: id}
	}
	return err
}

// ofNew is of for a client that is new: its secret may be there already, too.
func ofNew(id string, err error) error {
	named := of("client", id, err)
	if n, ok := named.(*namedError); ok {
		n.or = ", or its secret"
	}
	return named
}

func ofClient(id string, err error) error         { return of("client", id, err) }
func ofInvitation(id string, err error) error     { return of("invitation", id, err) }
func ofAccessToken(id uuid.UUID, err error) error { return of("token", id.String(), err) }
