package vaultdb

import (
	"context"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// vault_counts says how many tokens of a scope are sealed under which version of the keys,
// those with fingerprints apart from the others. It is changed in the transaction that
// changes the tokens. A count that nobody asks for by its scope is found by a look at all
// of them, which are few: of a scope there are two for each version.
const (
	countSealed = "INSERT INTO vault_counts (scope, deterministic, sealed, n) VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
	dropCount   = "DELETE FROM vault_counts WHERE scope = ? AND deterministic = ? AND sealed = ? AND n = 0"
)

// sealCounts are changes of vault_counts in a transaction.
type sealCounts struct{ n map[sealCount]int }

// sealCount is what a row of vault_counts counts.
type sealCount struct {
	scope         int
	deterministic bool
	version       int
}

// noteSealed changes the counts by the end of the transaction, if the operation succeeds.
// Insertions of single values come by the hundred into a transaction: so all of them
// change a count once.
func noteSealed(t *file.Tx, of sealCount, n int) {
	counts := file.MemoryOf[sealCounts](t.Shared())
	if counts.n == nil {
		counts.n = make(map[sealCount]int)
	}
	counts.n[of] += n
}

// settleCounts makes the counts in the table what the operations of the transaction have left
// so far. An operation that reads the counts calls it first, before it changes any: its writes
// are of the operations before it.
func settleCounts(t *file.Tx) error {
	return t.Settle(file.MemoryOf[sealCounts](t.Shared()))
}

// Settle is called as [file.Memories] says. It clears the changes.
func (s *sealCounts) Settle(c *file.Conn) error {
	for of, n := range s.n {
		if n == 0 {
			continue
		}
		if _, err := c.Exec(context.Background(), countSealed, of.scope, of.deterministic, of.version, n); err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		if _, err := c.Exec(context.Background(), dropCount, of.scope, of.deterministic, of.version); err != nil {
			return err
		}
	}
	clear(s.n)
	return nil
}
