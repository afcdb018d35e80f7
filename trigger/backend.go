package trigger

import (
	"errors"
	"fmt"
)

// Backend is what a [Service] stands on: what keeps its data, and what hands out its
// jobs. The databases in package storage fill one, as in
//
//	service, err := trigger.New(db.Trigger(), nil)
//
// Each part can be replaced before that. A host that knows its organizations itself sets
// Directory; one whose jobs stand in a broker sets Queue.
type Backend struct {
	// Store keeps the events. It may be a [TxStore], too, and a [Pruner].
	Store Store

	// Queue hands out the jobs. If it shares the Store's transactions ([mortise.Sharer]),
	// an event and its job are stored as one.
	Queue Queue

	// Directory knows the organizations. Nil, which is the default of the databases: each of
	// them is set up, and has each doc collection that is asked for. It may be the host's
	// own. A Store of the databases is one, too, which [Service.UpdateOrganization] writes:
	//
	//	backend.Directory = backend.Store.(trigger.Organizations)
	//
	// With it, an organization that was not set up is [ErrNotConfigured].
	Directory Directory

	// Keys keeps the API keys. Nil: the service holds none.
	Keys APIKeys

	// Err is why a database has no Store for this package. New returns it.
	Err error
}

// validate says what is missing.
func (b *Backend) validate() error {
	switch {
	case b.Err != nil:
		return fmt.Errorf("trigger: %w", b.Err)
	case b.Store == nil || b.Queue == nil:
		return errors.New("trigger: New needs Backend.Store and Backend.Queue")
	}
	return nil
}
