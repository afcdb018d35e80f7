package e2e

import (
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// insertAtOnce has clients of each server insert all values, each in an order and in
// batches of its own. It returns the tokens that each value was given.
func insertAtOnce(t *testing.T, c *vaultCaller, servers []*server, clients int, all []string) map[string]map[string]bool {
	t.Helper()
	seed := seeded(t)
	given := make(map[string]map[string]bool)
	var mu sync.Mutex
	var group sync.WaitGroup
	begin := make(chan struct{})
	for n, s := range servers {
		for client := range clients {
			group.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(n*clients+client)))
				left := slices.Clone(all)
				if client > 0 { // the first ones go side by side
					r.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
				}
				<-begin
				for len(left) > 0 {
					batch := left[:min(len(left), 1+r.IntN(60))]
					tokens, status, err := c.insert(t, s.url, batch)
					if status == http.StatusServiceUnavailable {
						continue // the other server held the file for too long
					}
					if err != nil {
						t.Errorf("insert: %v", err)
						return
					}
					mu.Lock()
					for i, value := range batch {
						if given[value] == nil {
							given[value] = make(map[string]bool)
						}
						given[value][tokens[i]] = true
					}
					mu.Unlock()
					left = left[len(batch):]
				}
			})
		}
	}
	close(begin)
	group.Wait()
	return given
}

// mustInsert inserts a value and returns its token.
func (c *vaultCaller) mustInsert(t *testing.T, url, value string) string {
	t.Helper()
	tokens, _, err := c.insert(t, url, []string{value})
	require.NoError(t, err)
	return tokens[0]
}

// usageIn counts what the database of a server that has ended has, in all vaults.
func usageIn(t *testing.T, dir string) keyring.Usage {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "mortise-data", "mortise.db"), nil)
	require.NoError(t, err)
	defer db.Close()
	usage, err := db.Vault().Store.KeyUsage(t.Context())
	require.NoError(t, err)
	return usage
}

// tokensIn counts the tokens in a data folder, without what the server remembers of
// provisioned records.
func tokensIn(t *testing.T, dir string) int {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "mortise-data", "mortise.db"), nil)
	require.NoError(t, err)
	defer db.Close()
	remembered, err := db.Vault().Store.ListRows(t.Context(), "\x01mortise", "provisioned records", "", 1000)
	require.NoError(t, err)
	require.NotEmpty(t, remembered.Items)
	return usageIn(t, dir).Rows - len(remembered.Items)
}
