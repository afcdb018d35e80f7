package audiosearchtest

import (
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest/internal/delegate"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/internal/fault"
)

// Store wraps a store. The ops are "Store." and the name of the method, as in
// "Store.PutScoring", "Store.Compact" or "Store.PruneRuns".
func (f *Faults) Store(s audiosearch.Store) audiosearch.Store {
	d, behind := new(delegate.Backend), fault.Wrapped{Store: s}
	mutate.Stand(&d.On, s, func(method string, do func() error) error { return f.call("Store."+method, do) })
	_, prunes := s.(audiosearch.Pruner)
	_, adds := s.(audiosearch.TxStore)
	switch {
	case prunes && adds:
		return &struct {
			fault.Wrapped
			audiosearch.Store
			audiosearch.Pruner
			audiosearch.TxStore
		}{behind, d, d, d}
	case prunes:
		return &struct {
			fault.Wrapped
			audiosearch.Store
			audiosearch.Pruner
		}{behind, d, d}
	case adds:
		return &struct {
			fault.Wrapped
			audiosearch.Store
			audiosearch.TxStore
		}{behind, d, d}
	}
	return &struct {
		fault.Wrapped
		audiosearch.Store
	}{behind, d}
}
