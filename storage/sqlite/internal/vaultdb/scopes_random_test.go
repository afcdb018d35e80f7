package vaultdb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestLookupsBesideChanges: whatever another DB of the file does between lookups, to its log
// too, each of them finds what one in memory does, which remembers nothing.
func TestLookupsBesideChanges(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			db, readers := openVault(t)
			finders := connectAll(t, db)
			ctx, random := t.Context(), rand.New(rand.NewPCG(seed, 1))
			model, err := memory.Open(ctx, nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, model.Close()) })
			expected := model.Vault().Store
			none := vault.AuditEvent{}
			require.NoError(t, expected.PutVault(ctx, vault.Vault{Organization: "acme", ID: "v1", Revision: 1}, nil, none))
			open := func() *DB {
				other, err := Open(ctx, db.Probe().Path(), nil)
				require.NoError(t, err)
				return other
			}
			other := open()
			defer func() { require.NoError(t, other.Close()) }()
			raw, err := db.Probe().Connect(url.Values{"_journal": {"WAL"}, "_sync": {"FULL"}, "_fk": {"1"}})
			require.NoError(t, err)
			defer func() { require.NoError(t, raw.Close()) }()
			holds := false

			orgs, vaults := []string{"acme", "globex"}, map[string]int64{"acme/v1": 1}
			pick := func(n int) int { return random.IntN(n) }
			made, tokens := 1, 0
			for range 1500 {
				org := orgs[pick(len(orgs))]
				id := fmt.Sprintf("v%d", max(1, made-pick(3)))
				revision := vaults[org+"/"+id] - int64(pick(8)/7)
				scope := string(rune('a' + pick(3)))
				rows := func() []vault.Row {
					tokens++
					return []vault.Row{someRow(scope, fmt.Sprint("t", tokens-pick(10)/9), pick(6))}
				}
				both := func(do func(s vault.Store) error) bool {
					want, got := do(expected), do(other.vault)
					require.Equal(t, class(want), class(got), "%v\n%v", want, got)
					return want == nil
				}
				switch pick(24) {
				case 0: // a vault of which there was none
					made++
					v := vault.Vault{Organization: org, ID: fmt.Sprintf("v%d", made), Revision: 1}
					if both(func(s vault.Store) error { return s.PutVault(ctx, v, nil, none) }) {
						vaults[org+"/"+v.ID] = 1
					}
				case 1:
					v := vault.Vault{Organization: org, ID: id, Revision: revision + 1}
					if both(func(s vault.Store) error { return s.PutVault(ctx, v, nil, none) }) {
						vaults[org+"/"+id] = v.Revision
					}
				case 2, 3, 4, 5:
					r := rows()
					both(func(s vault.Store) error {
						_, err := s.InsertTokens(ctx, org, id, revision, r)
						return err
					})
				case 6, 7:
					r := rows()
					both(func(s vault.Store) error { return s.ImportTokens(ctx, org, id, revision, r, none) })
				case 8:
					token := fmt.Sprint("t", pick(tokens+1))
					both(func(s vault.Store) error { return s.DeleteToken(ctx, org, id, token, none) })
				case 9:
					if pick(4) == 0 {
						both(func(s vault.Store) error {
							_, err := s.MarkVaultDeleted(ctx, org, id, filetest.SomeTime, none)
							return err
						})
					}
				case 10, 11:
					both(func(s vault.Store) error {
						for more := true; more; {
							var err error
							if _, more, err = s.RemoveDeletedVault(ctx, org, id, 1); err != nil {
								return err
							}
						}
						return nil
					})
				case 12: // the next organization's vaults get the numbers of its own
					if pick(6) == 0 {
						both(func(s vault.Store) error { _, err := s.MarkDeleted(ctx, org, filetest.SomeTime, none); return err })
						if pick(2) == 0 {
							both(func(s vault.Store) error {
								for more := true; more; {
									var err error
									if _, more, err = s.RemoveDeleted(ctx, org, 7); err != nil {
										return err
									}
								}
								return nil
							})
						}
						orgs = append(orgs, fmt.Sprint("org", made, tokens))[1:]
					}
				case 13:
					token := fmt.Sprint("t", pick(tokens+1))
					of := []vault.RowFingerprint{{Row: vault.RowID{Organization: org, Vault: id, Token: token}, Fingerprint: someFingerprint(pick(6))}}
					both(func(s vault.Store) error { _, err := s.AddFingerprints(ctx, 2, of); return err })
				case 14: // a reader that holds its snapshot, so that the log cannot begin anew
					if holds = !holds; holds {
						_, err = raw.Exec(context.Background(), "BEGIN")
						require.NoError(t, err)
						require.NoError(t, raw.Query(context.Background(), "SELECT count(*) FROM vault_tokens", nil, func(*file.Row) error { return nil }))
					} else {
						_, err = raw.Exec(context.Background(), "COMMIT")
						require.NoError(t, err)
					}
				case 15, 16:
					if !holds {
						kind := []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[pick(4)]
						require.NoError(t, raw.Query(context.Background(), "PRAGMA wal_checkpoint("+kind+")", nil, func(*file.Row) error { return nil }))
					}
				case 17:
					if !holds && pick(6) == 0 {
						_, err := raw.Exec(context.Background(), "VACUUM")
						require.NoError(t, err)
					}
				case 18:
					if pick(6) == 0 {
						require.NoError(t, other.Close())
						other = open()
					}
				}
				for range 1 + pick(4) {
					l := vault.Lookup{Scope: string(rune('a' + pick(4))), Version: 1 + pick(6)/5}
					for range 1 + pick(3) {
						l.Fingerprints = append(l.Fingerprints, someFingerprint(pick(7)))
					}
					want, wants := expected.FindTokens(ctx, org, id, revision, []vault.Lookup{l})
					for range 1 + pick(finders) {
						got, gots := readers.FindTokens(ctx, org, id, revision, []vault.Lookup{l})
						require.Equal(t, class(wants), class(gots), "%v\n%v", wants, gots)
						require.Equal(t, want, got)
					}
				}
			}
			if holds {
				_, err = raw.Exec(context.Background(), "COMMIT")
				require.NoError(t, err)
			}
		})
	}
}

// class is the kind of a vault's error.
func class(err error) error {
	for _, kind := range []error{mortise.ErrNotFound, vault.ErrConflict, vault.ErrTokenNotFound, mortise.ErrExists, mortise.ErrDeleted, vault.ErrScopeInUse, keyring.ErrRetired} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	var taken *vault.TakenError
	if errors.As(err, &taken) {
		return &vault.TakenError{}
	}
	return err
}
