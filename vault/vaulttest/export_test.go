package vaulttest

import "github.com/seed-6363c74e/mortise/internal/conformance"

// Suite is what Run runs.
func Suite(h Harness) conformance.Provable { return suite(&h) }

// KeyringSuite is what RunKeyring runs.
func KeyringSuite(h KeyringHarness) conformance.Provable { return keyringSuite(&h) }

// Delegate is what mutants stand in.
type Delegate = delegate
