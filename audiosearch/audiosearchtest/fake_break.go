package audiosearchtest

import "strings"

// Part is a part of a [Fake] that can be broken.
type Part string

// The parts.
const (
	StorePart  Part = "Store"  // datasets, videos, scores and runs, as when the database is away
	QueuePart  Part = "Queue"  // Start still queues runs, and nobody gets them
	ScorerPart Part = "Scorer" // nothing is scored; what is stored is searched
)

// Break makes every call to a part fail with [ErrInjected], without effect, until heal is
// called. A part that was broken twice must be healed twice.
func (f *Fake) Break(part Part) (heal func()) { return f.broken.Break(part) }

// fail is the Before hook of the fake's parts.
func (f *Fake) fail(op string) error {
	name, _, _ := strings.Cut(op, ".")
	part := Part(name)
	if name == "Leases" { // what the queue is made of
		part = QueuePart
	}
	if f.broken.Broken(part) {
		return ErrInjected
	}
	return nil
}
