package audiosearchtest

import (
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// Suite is what Run runs.
func Suite(h Harness) conformance.Provable { return suite(&h) }

// ScorerSuite is what RunScorer runs.
func ScorerSuite(open func(*testing.T) sound.Scorer) conformance.Provable { return scorerSuite(open) }

// MediaSuite is what RunMedia runs.
func MediaSuite(open func(*testing.T) sound.Media) conformance.Provable { return mediaSuite(open) }

// Delegate is what mutants stand in.
type Delegate = delegate
