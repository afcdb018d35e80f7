package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// revocations count for all domains.
type revocations mortise.Revocations

// count counts a change that takes something away; at may be zero.
func (r *revocations) count(at time.Time) {
	r.N++
	if at = at.UTC(); at.After(r.Last) {
		r.Last = at
	}
}

// countEvent counts a change with an audit event, if its kind takes away.
func (r *revocations) countEvent(e *authmgmt.AuditEvent) {
	if e.ID != uuid.Nil && e.Kind.TakesAway() {
		r.count(e.At)
	}
}

// revoked implements [mortise.RevocationCounter] for each Store.
type revoked struct{ db *DB }

// Revocations implements [mortise.RevocationCounter].
func (s revoked) Revocations(ctx context.Context) (mortise.Revocations, error) {
	db, err := s.db.read(ctx)
	if err != nil {
		return mortise.Revocations{}, err
	}
	defer db.end()
	return mortise.Revocations(db.revocations), nil
}

// RaiseRevocations implements [mortise.RevocationCounter].
func (s revoked) RaiseRevocations(ctx context.Context, n int64) error {
	db, err := s.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	db.revocations.N = max(db.revocations.N, n)
	return nil
}
