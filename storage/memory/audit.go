package memory

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
)

// trails are the audit trails of a domain, by organization, oldest event first. An event is
// an E.
type trails[E any, P auditEvent[E]] map[string][]E

// auditEvent is what a pointer to an event of either domain has.
type auditEvent[E any] interface {
	*E
	Position() mortise.Position
	Clone() E
}

// add stores an event, unless it is none.
func (t trails[E, P]) add(org string, e E) {
	at := P(&e).Position()
	if at.ID == string(uuid.Nil[:]) {
		return
	}
	trail := t[org]
	i := sort.Search(len(trail), func(i int) bool { return P(&trail[i]).Position().Compare(at) > 0 })
	t[org] = slices.Insert(trail, i, P(&e).Clone())
}

// auditQuery is what the domains can ask their trails for.
type auditQuery[E any] struct {
	matches func(*E) bool
	from    time.Time
	after   mortise.Cursor
	limit   int
}

// listEvents returns a page of the trail that shown returns under the lock.
func listEvents[E any, P auditEvent[E]](
	ctx context.Context, db *DB, shown func(*tables) []E, q auditQuery[E],
) (page mortise.Page[E], err error) {
	position := func(e *E) mortise.Position { return P(e).Position() }
	err = newestFirst(ctx, db, q.after, shown, position, func(e *E) (more bool) {
		switch {
		case P(e).Position().At.Before(q.from):
			return false
		case !q.matches(e):
			return true
		case len(page.Items) == q.limit:
			page.Next = P(&page.Items[q.limit-1]).Position().Cursor()
			return false
		}
		page.Items = append(page.Items, P(e).Clone())
		return true
	})
	if err != nil {
		return mortise.Page[E]{}, err
	}
	return page, nil
}

// pruneEvents removes events of all trails that happened before a time.
func pruneEvents[E any, P auditEvent[E]](
	ctx context.Context, db *DB, of func(*tables) trails[E, P], before time.Time, limit int,
) (n int, more bool, err error) {
	c, err := db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer c.end()
	t, step := of(c.tables), boundedStep{limit: limit}
	for org, trail := range t {
		t[org] = slices.DeleteFunc(trail, func(e E) bool { return step.takes(P(&e).Position().At.Before(before)) })
	}
	return step.n, step.more, nil
}

// boundedStep counts the rows that a step removes.
type boundedStep struct {
	limit, n int
	more     bool // there was something else to do
}

// takes reports whether one thing is done, if it is to be done at all, and counts it.
func (s *boundedStep) takes(due bool) bool {
	switch {
	case !due:
		return false
	case s.n >= s.limit:
		s.more = true
		return false
	}
	s.n++
	return true
}
