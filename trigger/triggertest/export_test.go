package triggertest

import "github.com/seed-6363c74e/mortise/internal/conformance"

// Suite is what Run runs.
func Suite(h Harness) conformance.Provable { return suite(&h) }

// Delegate is what mutants stand in.
type Delegate = delegate
