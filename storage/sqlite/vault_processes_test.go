package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/vaultdb"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// vaultKey is a root key that differs by its version.
func vaultKey(t testing.TB, version int) localkeys.Key {
	t.Helper()
	root, err := localkeys.NewRoot(rootBytes(version))
	require.NoError(t, err)
	return localkeys.Key{Version: version, Root: root}
}

// vaultService returns a service whose keyring has the versions, the first as its primary
// one.
func vaultService(t testing.TB, store vault.Store, primary int, others ...int) *vault.Service {
	t.Helper()
	var lookup []localkeys.Key
	for _, version := range others {
		lookup = append(lookup, vaultKey(t, version))
	}
	keyring, err := localkeys.New(vaultKey(t, primary), lookup...)
	require.NoError(t, err)
	s, err := vault.New(vault.Backend{Store: store}, keyring, nil)
	require.NoError(t, err)
	return s
}

// emails are the items of some values.
func emails(from, n int) []vault.Item {
	items := make([]vault.Item, n)
	for i := range items {
		items[i] = vault.Item{Place: vault.InColumn("persons", "email"), Value: vault.NewValue(fmt.Sprintf("person%d@example.com", from+i))}
	}
	return items
}

// The environment of the processes of TestVaultProcesses, beside childPath and
// childAnswer.
const vaultRole = "MORTISE_SQLITE_VAULT_ROLE"

// The names of files by which the processes tell each other how far they are.
const (
	roleInserter, roleRotation = "inserter", "rotation"
	backfilled, retired        = "backfilled", "retired"
	round, promoted            = "round-", "promoted-" // and which process
	mine, its                  = "mine", "its"
)

// TestVaultProcesses: two processes insert the same values at once, while a third one
// takes the vault through a rotation of the keys. Each value has one token, from its
// first insertion on.
func TestVaultProcesses(t *testing.T) {
	if path := os.Getenv(childPath); path != "" { // one of the others
		if os.Getenv(vaultRole) == roleRotation {
			rotateBeside(t, path)
			return
		}
		answer, err := json.Marshal(insertBeside(t, path, its, mine))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(os.Getenv(childAnswer), answer, 0o600))
		return
	}
	folder := t.TempDir()
	path, answer := filepath.Join(folder, "test.db"), filepath.Join(folder, "answer.json")
	store := openAt(t, path, &sqlite.Options{BusyTimeout: time.Minute}).Vault().Store.(*vaultdb.Store)
	_, err := vaultService(t, store, 1).CreateVault(t.Context(), "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{
		Name: "persons", Columns: []vault.Column{{Name: "email", Tokenization: vault.Deterministic, Format: "email"}},
	}}})
	require.NoError(t, err)
	require.NoError(t, vaultService(t, store, 1).CheckKeys(t.Context()))
	const old = 1000 // values from before
	kept, err := vaultService(t, store, 1).Insert(t.Context(), "acme", "ops", "v1", emails(-old, old))
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	var children sync.WaitGroup
	for _, role := range []string{roleInserter, roleRotation} {
		child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestVaultProcesses$", "-test.count=1")
		child.Env = append(os.Environ(), childPath+"="+path, childAnswer+"="+answer, vaultRole+"="+role)
		children.Go(func() {
			output, err := child.CombinedOutput()
			if !assert.NoErrorf(t, err, "%s: %s", role, output) {
				reach(t, path, retired) // nobody is to wait for it
			}
		})
	}
	defer children.Wait()
	defer stop()
	tokens := insertBeside(t, path, mine, its)
	children.Wait()
	if t.Failed() {
		return
	}
	data, err := os.ReadFile(answer)
	require.NoError(t, err)
	var others map[int]string
	require.NoError(t, json.Unmarshal(data, &others))

	after := vaultService(t, store, 2)
	distinct := make(map[string]bool)
	both := 0
	for n, token := range tokens {
		distinct[token] = true
		if other, ok := others[n]; ok {
			both++
			require.Equalf(t, token, other, "value %d has two tokens", n)
		}
	}
	for n, token := range others {
		distinct[token] = true
		tokens[n] = token
	}
	require.Len(t, distinct, len(tokens), "a token of two values")
	t.Logf("%d values, %d of them inserted by both", len(tokens), both)
	require.NotZero(t, both)
	for n := 0; n < len(tokens); n += batch {
		got, err := after.Insert(t.Context(), "acme", "ops", "v1", emails(n, batch))
		require.NoError(t, err)
		for i := range got {
			require.Equal(t, tokens[n+i], got[i])
		}
	}
	got, err := after.Tokenize(t.Context(), "acme", "v1", emails(-old, old))
	require.NoError(t, err)
	require.Equal(t, kept, got, "those from before the rotation")
	rows := old + len(tokens)
	usage, err := after.KeyUsage(t.Context())
	require.NoError(t, err)
	require.Equal(t, keyring.Usage{Rows: rows, Deterministic: rows, Fingerprints: map[int]int{2: rows}, Sealed: map[int]int{2: rows}}, usage)
}

// batch is how many values the processes insert at a time.
const batch = 20

// insertBeside inserts values until the rotation is done, the same ones as another
// process at the same moment. It returns the tokens.
func insertBeside(t *testing.T, path, name, other string) map[int]string {
	store := openAt(t, path, &sqlite.Options{BusyTimeout: time.Minute}).Vault().Store.(*vaultdb.Store)
	service := vaultService(t, store, 1, 2)
	tokens := make(map[int]string)
	switched := false
	for n := 0; ; n++ {
		if !switched && reached(t, path, backfilled) {
			service, switched = vaultService(t, store, 2, 1), true
			reach(t, path, promoted+name)
		}
		this := fmt.Sprint(round, n, "-")
		reach(t, path, this+name)
		last := !await(t, path, this+other)
		const callers = 3
		var all [callers][]string
		var errs [callers]error
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() { all[i], errs[i] = service.Insert(t.Context(), "acme", "ops", "v1", emails(n*batch, batch)) })
		}
		wg.Wait()
		require.NoErrorf(t, errors.Join(errs[:]...), "%s, round %d", name, n)
		for _, got := range all {
			require.Equal(t, all[0], got)
		}
		for i, token := range all[0] {
			tokens[n*batch+i] = token
		}
		if last {
			return tokens
		}
	}
}

// rotateBeside is the rotation, from the second step to the last.
func rotateBeside(t *testing.T, path string) {
	defer func() {
		if t.Failed() {
			reach(t, path, retired) // nobody is to wait for it
		}
	}()
	store := openAt(t, path, &sqlite.Options{BusyTimeout: time.Minute}).Vault().Store.(*vaultdb.Store)
	everyone := func(what string) {
		for _, name := range []string{mine, its} {
			require.True(t, await(t, path, what+name), "another process has failed")
		}
	}
	everyone(round + "2-")
	require.NoError(t, vaultService(t, store, 1, 2).Backfill(t.Context(), 2, nil))
	reach(t, path, backfilled)
	everyone(promoted)
	s := vaultService(t, store, 2, 1)
	require.NoError(t, s.Rewrap(t.Context(), nil))
	require.NoError(t, s.Retire(t.Context(), keyring.SealKey, 1, nil))
	require.NoError(t, s.Retire(t.Context(), keyring.FingerprintKey, 1, nil))
	reach(t, path, retired)
}

func reach(t *testing.T, path, what string) {
	assert.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), what), nil, 0o600))
}

func reached(t *testing.T, path, what string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(path), what))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return err == nil
}

// await waits for something, and returns false if the rotation is done before.
func await(t *testing.T, path, what string) bool {
	for !reached(t, path, what) {
		if reached(t, path, retired) {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}
