package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

const vaultScope = "persons.email"

// newVault stores an empty vault, at revision 1.
func newVault(t testing.TB, store vault.Store) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	v := vault.Vault{Organization: "acme", ID: "v1", Revision: 1, CreatedAt: now, UpdatedAt: now}
	require.NoError(t, store.PutVault(t.Context(), v, nil, vault.AuditEvent{}))
}

// valueOf is the fingerprint of a value, by a key that is none.
func valueOf(n int) (f keyring.Fingerprint) {
	copy(f[:], fmt.Sprintf("%08x of a value, of 32 bytes.....", uint32(n)*2654435761))
	return f
}

// vaultRow is a row of a value.
func vaultRow(token string, value int) vault.Row {
	return vault.Row{
		Token: token, Scope: vaultScope, Deterministic: true, Sealed: keyring.Sealed{Version: 1, Ciphertext: []byte("sealed")},
		CreatedAt: time.Now().UTC().Truncate(time.Microsecond), Fingerprints: []vault.VersionedFingerprint{{Version: 1, Fingerprint: valueOf(value)}},
	}
}

// TestVaultProcesses: two processes insert batches of the same values at once, each in an
// order of its own. Each value gets one token, and nobody hears of a deadlock.
func TestVaultProcesses(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	opts := &postgres.Options{Timeout: time.Minute}
	stores := []vault.Store{d.open(t, opts).Vault().Store, d.open(t, opts).Vault().Store}
	newVault(t, stores[0])
	const callers, rounds, values = 6, 5, 200
	for round := range rounds {
		var tokens [callers]map[int]string
		var errs [callers]error
		atOnce(callers, func(i int) {
			// Half of them are everybody's, and half are shared with some.
			order := rand.Perm(values)
			rows := make([]vault.Row, 0, values)
			for _, n := range order {
				value := n
				if n >= values/2 {
					value += i % 3 * values
				}
				rows = append(rows, vaultRow(fmt.Sprint(round, "-", i, "-", value), round*10_000+value))
			}
			var got []string
			got, errs[i] = stores[i%len(stores)].InsertTokens(t.Context(), "acme", "v1", 1, rows)
			tokens[i] = make(map[int]string)
			for k := range got {
				value := order[k]
				if value >= values/2 {
					value += i % 3 * values
				}
				tokens[i][value] = got[k]
			}
		})
		require.NoError(t, errors.Join(errs[:]...))
		first := make(map[int]string)
		for i := range tokens {
			require.Len(t, tokens[i], values)
			for value, token := range tokens[i] {
				if first[value] == "" {
					first[value] = token
				}
				require.Equal(t, first[value], token, "two tokens of value %d", value)
			}
		}
		rows, err := stores[0].ListRows(t.Context(), "acme", "v1", "", 100_000)
		require.NoError(t, err)
		require.Len(t, rows.Items, (round+1)*len(first), "a row without use was stored")
	}
}

// TestVaultInTx: a customer and its token are stored together or not at all. An insertion
// that is refused leaves the host's work alive.
func TestVaultInTx(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := newDatabase(t)
	pool := d.pool(t)
	_, err := pool.Exec(ctx, "CREATE TABLE customers (id int PRIMARY KEY, email text NOT NULL)")
	require.NoError(t, err)
	store := d.open(t, nil).Vault().Store
	newVault(t, store)
	find := func(value int) string {
		found, err := store.FindTokens(ctx, "acme", "v1", 1, []vault.Lookup{{
			Scope: vaultScope, Version: 1, Fingerprints: []keyring.Fingerprint{valueOf(value)},
		}})
		require.NoError(t, err)
		return found[0][0]
	}
	for i, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		customer := func(token string, fail error) error {
			return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
				within := postgres.InTx(ctx, tx)
				tokens, err := store.InsertTokens(within, "acme", "v1", 1, []vault.Row{vaultRow(token, i)})
				if err != nil {
					return err
				}
				require.Equal(t, []string{token}, tokens)
				if _, err := tx.Exec(ctx, "INSERT INTO customers VALUES ($1, $2)", i, tokens[0]); err != nil {
					return err
				}
				again, err := store.InsertTokens(within, "acme", "v1", 1, []vault.Row{vaultRow("other", i)})
				require.NoError(t, err)
				require.Equal(t, tokens, again, "the transaction does not see its own token")
				var taken *vault.TakenError
				_, err = store.InsertTokens(within, "acme", "v1", 1, []vault.Row{vaultRow(token, 100+i)})
				require.ErrorAs(t, err, &taken)
				require.Empty(t, find(i), "a token came before COMMIT")
				return fail
			})
		}
		undone := errors.New("no money")
		require.ErrorIs(t, customer(fmt.Sprint("undone", i), undone), undone)
		require.Empty(t, find(i), "a token came after ROLLBACK")
		rows, err := store.Rows(ctx, "acme", "v1", []string{fmt.Sprint("undone", i)})
		require.NoError(t, err)
		require.Empty(t, rows[0].Token, "a row came after ROLLBACK")
		require.NoError(t, customer(fmt.Sprint("kept", i), nil))
		require.Equal(t, fmt.Sprint("kept", i), find(i))
		var email string
		require.NoError(t, pool.QueryRow(ctx, "SELECT email FROM customers WHERE id = $1", i).Scan(&email))
		require.Equal(t, find(i), email)
	}
}

// TestVaultTwoFingerprintsOfAVersion: a caller who does not keep the contract gets an error,
// and not an attempt for ever.
func TestVaultTwoFingerprintsOfAVersion(t *testing.T) {
	t.Parallel()
	store := newDatabase(t).open(t, nil).Vault().Store
	newVault(t, store)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := vaultRow("t", 1)
	r.Fingerprints = append(r.Fingerprints, vault.VersionedFingerprint{Version: 1, Fingerprint: valueOf(2)})
	_, err := store.InsertTokens(ctx, "acme", "v1", 1, []vault.Row{r})
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "it went on until the caller left")
}
