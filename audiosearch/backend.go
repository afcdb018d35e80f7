package audiosearch

import (
	"errors"
	"fmt"
)

// Backend is what a [Service] stands on: what keeps its data, and what hands out its
// jobs. The databases in package storage fill one, as in
//
//	service, err := audiosearch.New(db.AudioSearch(), opts)
//
// Each part can be replaced before that.
type Backend struct {
	// Store keeps datasets, scores and runs. It may be a [TxStore], too, and a [Pruner].
	Store Store

	// Queue hands out the jobs of runs. If it shares the Store's transactions
	// ([mortise.Sharer]), a run and its job are stored as one.
	Queue Queue

	// Err is why a database has no Store for this package. New returns it.
	Err error
}

// validate says what is missing.
func (b *Backend) validate() error {
	switch {
	case b.Err != nil:
		return fmt.Errorf("audiosearch: %w", b.Err)
	case b.Store == nil || b.Queue == nil:
		return errors.New("audiosearch: New needs Backend.Store and Backend.Queue")
	}
	return nil
}
