package sqlite

// vault_counts says how many tokens of a scope are sealed under which version of the keys,
// those with fingerprints apart from the others. It is changed in the transaction that
// changes the tokens. A count that nobody asks for by its scope is found by a look at all
// of them, which are few: of a scope there are two for each version.
const (
	countSealed = "INSERT INTO vault_counts (scope, deterministic, sealed, n) VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
	dropCount   = "DELETE FROM vault_counts WHERE scope = ? AND deterministic = ? AND sealed = ? AND n = 0"
)

// sealCounts are changes of vault_counts.
type sealCounts map[sealCount]int

// sealCount is what a row of vault_counts counts.
type sealCount struct {
	scope         int
	deterministic bool
	version       int
}

// countSealed changes the counts.
func (t *tx) countSealed(changes sealCounts) error {
	for of, n := range changes {
		if n == 0 {
			continue
		}
		if _, err := t.exec(countSealed, of.scope, of.deterministic, of.version, n); err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		if _, err := t.exec(dropCount, of.scope, of.deterministic, of.version); err != nil {
			return err
		}
	}
	return nil
}
