package triggertest

import "strings"

// Part is a part of a [Fake] that can be broken.
type Part string

// The parts.
const (
	StorePart     Part = "Store"     // the history: submitting, reading, and the ends of attempts
	QueuePart     Part = "Queue"     // with Options.SeparateQueue, Submit gives ErrEnqueueFailed
	APIKeysPart   Part = "APIKeys"   // the API keys
	DirectoryPart Part = "Directory" // the organizations, with Options.Directory
)

// Break makes every call to a part fail with [ErrInjected], without effect, until heal is
// called. A part that was broken twice must be healed twice. While the queue shares the
// store's transaction, a submission fails alike whichever of the two is broken.
func (f *Fake) Break(part Part) (heal func()) { return f.broken.Break(part) }

// fail is the Before hook of the fake's parts.
func (f *Fake) fail(op string) error {
	name, _, _ := strings.Cut(op, ".")
	part := Part(name)
	if name == "Leases" { // what the queue is made of
		part = QueuePart
	}
	both := op == "Store.CreateEventAndAdd" || op == "Store.UpdateEventAndJobs"
	if f.broken.Broken(part) || both && f.broken.Broken(QueuePart) {
		return ErrInjected
	}
	return nil
}
