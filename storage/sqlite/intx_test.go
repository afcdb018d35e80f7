package sqlite_test

import (
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// TestSuitesInTx runs the conformance suites with each call in a transaction of InTx.
func TestSuitesInTx(t *testing.T) {
	t.Parallel()
	t.Run("trigger", func(t *testing.T) {
		t.Parallel()
		triggertest.Run(t, triggers(sqlite.CallsInTx))
	})
	t.Run("vault", func(t *testing.T) {
		t.Parallel()
		vaulttest.Run(t, vaults(sqlite.CallsInTx))
	})
	t.Run("authmgmt", func(t *testing.T) {
		t.Parallel()
		authmgmttest.Run(t, authMgmt(sqlite.CallsInTx))
	})
	t.Run("audiosearch", func(t *testing.T) {
		t.Parallel()
		audiosearchtest.Run(t, sounds(sqlite.CallsInTx))
	})
}
