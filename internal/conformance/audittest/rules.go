package audittest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

const (
	orgA = "org-a"
	orgB = "org-b"
)

// Rule is a sentence of the contract of every trail, and what tries it.
type Rule[E any] struct {
	ID, Text string
	Check    func(*testing.T, *Trail[E])
}

// Rules returns what every trail keeps, in which order, and what an AuditQuery selects.
func (s *Events[E]) Rules() []Rule[E] { return slices.Concat(s.trailRules(), s.queryRules()) }

// event returns one that says no more than it must.
func (s *Events[E]) event(org, about string, at time.Duration) E {
	return s.New(Event{ID: uuid.New(), Organization: org, At: conformance.Moment(at), Kind: "kind", Actor: "somebody", About: about})
}

// filled returns an event whose every field is set.
func (s *Events[E]) filled(org, about string, at time.Duration) E {
	e := s.event(org, about, at)
	s.Fill(&e, "text")
	return e
}

func (s *Events[E]) trailRules() []Rule[E] {
	return []Rule[E]{
		{"audit/times-keep-microseconds", "All times of audit events keep microseconds, and are UTC.", func(t *testing.T, s *Trail[E]) {
			for _, at := range conformance.Times {
				e := s.filled(orgA, "x", at.Sub(conformance.Moment(0)))
				s.Record(t, e)
				s.HasEvent(t, e)
				s.selects(t, []E{e}, Query{From: at, To: at.Add(time.Microsecond)}, 1)
			}
		}},

		{"audit/longest", "Every text of an audit event comes back whole, as long as it can be.", func(t *testing.T, s *Trail[E]) {
			e := s.event(orgA, "x", 0)
			s.Fill(&e, "text")
			mutate.Stretch(&e)
			s.Record(t, e)
			s.HasEvent(t, e)
		}},

		{"audit/strings-keep-every-byte", "Strings of audit events keep every byte, those of " + s.JSON + " included.", func(t *testing.T, s *Trail[E]) {
			for n, text := range conformance.Strings {
				filled := s.New(Event{ID: uuid.New(), Organization: text, At: conformance.Moment(0), Kind: text, Actor: text, About: text})
				plain := s.New(Event{ID: uuid.New(), Organization: text, At: conformance.Moment(time.Duration(n) * time.Hour), Kind: text, Actor: text, About: text})
				s.Fill(&filled, text)
				s.Record(t, filled)
				require.Len(t, s.Trail(t, text), 1, "events of %q", text)
				s.HasEvent(t, filled)
				s.Record(t, plain)
				s.HasEvent(t, plain)
			}
		}},

		{"audit/copies", "Events are the receiver's own: those that are stored, and those that ListAuditEvents returns.", func(t *testing.T, s *Trail[E]) {
			e := s.filled(orgA, "x", 0)
			mine := s.Clone(&e)
			s.Add(t, mine)
			s.Spoil(&mine)
			for range 2 {
				got := s.Trail(t, orgA)
				require.Len(t, got, 1)
				s.Same(t, e, got[0])
				s.Spoil(&got[0])
			}
		}},
	}
}

// PruneRules returns the rules of PruneAudit, but not the rule of its steps. id is the ID of
// the first rule.
func (s *Events[E]) PruneRules(id string) []Rule[E] {
	return []Rule[E]{
		{id, "PruneAudit removes events with At before the given time, and no others, and nothing else.", func(t *testing.T, s *Trail[E]) {
			early, at := s.filled(orgA, "early", time.Hour-time.Microsecond), s.filled(orgA, "at", time.Hour)
			s.Record(t, early, at)
			s.Prunes(t, 1, time.Hour)
			s.NoEvent(t, early)
			s.HasEvent(t, at)
			s.Prunes(t, 0, time.Hour)
		}},
	}
}

// field returns the name of the field that Event.About stands for, as an id has it.
func (s *Events[E]) field() string { return strings.ToLower(s.About) }
