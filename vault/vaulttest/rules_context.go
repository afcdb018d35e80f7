package vaulttest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// call is one method of a backend, called so that it would succeed if nothing were wrong,
// and could be called again.
type call struct {
	name string
	do   func(ctx context.Context) error
}

// sample is one thing of each kind that is stored.
type sample struct {
	vault vault.Vault
	rows  []vault.Row // a deterministic one and a random one
	event vault.AuditEvent
	keys  []keyring.Key
}

// addSample stores one thing of each kind in orgA.
func (s *subject) addSample(t *testing.T) *sample {
	t.Helper()
	s.registers(t, keyring.FingerprintKey, 1, 2, 3)
	s.registers(t, keyring.SealKey, 1, 2)
	s.requires(t, 2)
	x := &sample{
		vault: s.addVault(t, filledVault(orgA, "customers")), rows: []vault.Row{row("t1", email, "ann", 1, 2), row("t2", "persons.phone", "bea")},
		event: filledEvent(orgA, "customers"),
		keys: []keyring.Key{
			required(newKey(keyring.FingerprintKey, 1)), required(newKey(keyring.FingerprintKey, 2)), retired(newKey(keyring.FingerprintKey, 3)),
			newKey(keyring.SealKey, 1), newKey(keyring.SealKey, 2),
		},
	}
	s.adds(t, x.vault, x.rows...)
	s.retires(t, keyring.FingerprintKey, 3, 1)
	s.Record(t, x.event)
	s.addVault(t, newVault(orgB, "b"))
	return x
}

// hasSample requires that all of it is there as it was.
func (s *subject) hasSample(t *testing.T, x *sample) {
	t.Helper()
	s.hasVault(t, x.vault)
	sameVaults(t, []vault.Vault{x.vault}, s.listVaults(t, orgA, "", 10))
	for _, r := range x.rows {
		s.hasRow(t, x.vault, r)
	}
	require.Len(t, s.dump(t, x.vault), len(x.rows))
	s.HasEvent(t, x.event)
	s.hasKeys(t, x.keys...)
}

// storeCalls calls every method of Store. What they change is orgB's.
func (s *subject) storeCalls(x *sample) []call {
	v, none := x.vault, vault.RowID{Organization: "zz"}
	b := newVault(orgB, "b")
	e := func() vault.AuditEvent { return newEvent(orgB, vault.KindSchemaChanged, "x", 0) }
	insert := func(ctx context.Context) (string, error) {
		r := row(uuid.NewString(), email, uuid.NewString(), 1, 2)
		_, err := s.Store.InsertTokens(ctx, orgB, "b", 1, rowsOf(b, []vault.Row{r}))
		return r.Token, err
	}
	return []call{
		{"Vault", func(ctx context.Context) error { _, err := s.Store.Vault(ctx, orgA, v.ID); return err }},
		{"ListVaults", func(ctx context.Context) error { _, err := s.Store.ListVaults(ctx, orgA, "", 10); return err }},
		{"PutVault", func(ctx context.Context) error {
			return s.Store.PutVault(ctx, newVault(orgB, uuid.NewString()), nil, e())
		}},
		{"FindTokens", func(ctx context.Context) error {
			_, err := s.Store.FindTokens(ctx, orgA, v.ID, 1, []vault.Lookup{{Scope: email, Version: 1, Fingerprints: []keyring.Fingerprint{{1}}}})
			return err
		}},
		{"InsertTokens", func(ctx context.Context) error { _, err := insert(ctx); return err }},
		{"ImportTokens", func(ctx context.Context) error {
			r := row(uuid.NewString(), email, uuid.NewString(), 1, 2)
			return s.Store.ImportTokens(ctx, orgB, "b", 1, rowsOf(b, []vault.Row{r}), e())
		}},
		{"Rows", func(ctx context.Context) error {
			_, err := s.Store.Rows(ctx, orgA, v.ID, []string{"t1", "t9"})
			return err
		}},
		{"ListRows", func(ctx context.Context) error { _, err := s.Store.ListRows(ctx, orgA, v.ID, "", 10); return err }},
		{"DeleteToken", func(ctx context.Context) error {
			token, err := insert(context.WithoutCancel(ctx))
			if err != nil {
				return err
			}
			return s.Store.DeleteToken(ctx, orgB, "b", token, e())
		}},
		{"Keys", func(ctx context.Context) error { _, err := s.Store.Keys(ctx); return err }},
		{"RegisterKey", func(ctx context.Context) error {
			_, err := s.Store.RegisterKey(ctx, newKey(keyring.SealKey, 1))
			return err
		}},
		{"RequireKey", func(ctx context.Context) error { return s.Store.RequireKey(ctx, 2) }},
		{"RetireKey", func(ctx context.Context) error { return s.Store.RetireKey(ctx, keyring.FingerprintKey, 3, 1) }},
		{"KeyUsage", func(ctx context.Context) error { _, err := s.Store.KeyUsage(ctx); return err }},
		{"RowsWithoutFingerprint", func(ctx context.Context) error {
			_, err := s.Store.RowsWithoutFingerprint(ctx, 2, "", 10)
			return err
		}},
		{"AddFingerprints", func(ctx context.Context) error {
			_, err := s.Store.AddFingerprints(ctx, 2, []vault.RowFingerprint{filling(v, "t1", 2, "ann")})
			return err
		}},
		{"RowsNotSealedUnder", func(ctx context.Context) error { _, err := s.Store.RowsNotSealedUnder(ctx, 1, "", 10); return err }},
		{"Reseal", func(ctx context.Context) error {
			_, err := s.Store.Reseal(ctx, []vault.Resealed{{Row: none, From: x.rows[0].Sealed, To: x.rows[0].Sealed}})
			return err
		}},
		{"RemoveFingerprints", func(ctx context.Context) error { _, err := s.Store.RemoveFingerprints(ctx, 3, 10); return err }},
		{"AddAuditEvent", func(ctx context.Context) error { return s.Store.AddAuditEvent(ctx, e()) }},
		{"ListAuditEvents", func(ctx context.Context) error { _, err := s.List(ctx, orgA, audittest.Everything); return err }},
		{"PruneAudit", func(ctx context.Context) error {
			_, err := s.Store.PruneAudit(ctx, moment(-100_000*time.Hour), 10) // before everything
			return err
		}},
		{"MarkDeleted", func(ctx context.Context) error {
			_, err := s.Store.MarkDeleted(ctx, "deleted", moment(0), e())
			return err
		}},
		{"RemoveDeleted", func(ctx context.Context) error {
			if _, err := s.Store.MarkDeleted(context.WithoutCancel(ctx), "deleted", moment(0), vault.AuditEvent{}); err != nil {
				return err
			}
			_, err := s.Store.RemoveDeleted(ctx, "deleted", 1)
			return err
		}},
		{"MarkVaultDeleted", func(ctx context.Context) error {
			return s.deletesNew(ctx, uuid.NewString(), context.WithoutCancel(ctx))
		}},
		{"RemoveDeletedVault", func(ctx context.Context) error {
			id := uuid.NewString()
			if err := s.deletesNew(context.WithoutCancel(ctx), id, context.WithoutCancel(ctx)); err != nil {
				return err
			}
			_, err := s.Store.RemoveDeletedVault(ctx, orgB, id, 1)
			return err
		}},
		{"Stats", func(ctx context.Context) error { _, err := s.Store.Stats(ctx, orgA, 10); return err }},
		{"VaultStats", func(ctx context.Context) error { _, err := s.Store.VaultStats(ctx, orgA, v.ID, 10); return err }},
		{"StatsAll", func(ctx context.Context) error { _, err := s.Store.StatsAll(ctx, 1, 10); return err }},
	}
}

// deletesNew makes a vault and marks it as deleted.
func (s *subject) deletesNew(ctx context.Context, id string, making context.Context) error {
	if err := s.Store.PutVault(making, newVault(orgB, id), nil, vault.AuditEvent{}); err != nil {
		return err
	}
	_, err := s.Store.MarkVaultDeleted(ctx, orgB, id, moment(0), vault.AuditEvent{})
	return err
}

// allFail makes the calls and requires that each is a failure.
func allFail(ctx context.Context, t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		isFailure(t, c.name, c.do(ctx))
	}
}

// allWork makes the calls and requires that none fails.
func allWork(t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		require.NoError(t, c.do(t.Context()), c.name)
	}
}

// failingCalls are calls that would be refused if nothing were wrong.
func (s *subject) failingCalls(x *sample) []call {
	v := x.vault
	return []call{
		{"Vault that is not there", func(ctx context.Context) error { _, err := s.Store.Vault(ctx, orgB, "unknown"); return err }},
		{"PutVault that is there", func(ctx context.Context) error { return s.Store.PutVault(ctx, v.Clone(), nil, vault.AuditEvent{}) }},
		{"FindTokens of another revision", func(ctx context.Context) error { _, err := s.Store.FindTokens(ctx, orgA, v.ID, 7, nil); return err }},
		{"InsertTokens of a token that is there", func(ctx context.Context) error {
			_, err := s.Store.InsertTokens(ctx, orgA, v.ID, 1, rowsOf(v, []vault.Row{row("t1", email, "other", 1, 2)}))
			return err
		}},
		{"ImportTokens of a token that is there", func(ctx context.Context) error {
			rows := rowsOf(v, []vault.Row{row("t1", email, "other", 1, 2), row("t7", email, "ann", 1, 2)})
			return s.Store.ImportTokens(ctx, orgA, v.ID, 1, rows, newEvent(orgA, vault.KindImported, v.ID, 0))
		}},
		{"Rows of no vault", func(ctx context.Context) error { _, err := s.Store.Rows(ctx, orgB, "unknown", nil); return err }},
		{"ListRows of no vault", func(ctx context.Context) error { _, err := s.Store.ListRows(ctx, orgB, "unknown", "", 1); return err }},
		{"VaultStats of no vault", func(ctx context.Context) error { _, err := s.Store.VaultStats(ctx, orgB, "unknown", 1); return err }},
		{"DeleteToken that is not there", func(ctx context.Context) error { return s.Store.DeleteToken(ctx, orgA, v.ID, "t9", vault.AuditEvent{}) }},
		{"MarkVaultDeleted of no vault", func(ctx context.Context) error {
			_, err := s.Store.MarkVaultDeleted(ctx, orgB, "unknown", moment(0), vault.AuditEvent{})
			return err
		}},
		{"RemoveDeletedVault that is not marked", func(ctx context.Context) error {
			_, err := s.Store.RemoveDeletedVault(ctx, orgA, v.ID, 1)
			return err
		}},
		{"RemoveDeleted that is not marked", func(ctx context.Context) error { _, err := s.Store.RemoveDeleted(ctx, orgA, 1); return err }},
		{"RequireKey of none", func(ctx context.Context) error { return s.Store.RequireKey(ctx, 9) }},
		{"RetireKey of none", func(ctx context.Context) error { return s.Store.RetireKey(ctx, keyring.SealKey, 9, 0) }},
		{"AddFingerprints of a retired version", func(ctx context.Context) error { _, err := s.Store.AddFingerprints(ctx, 3, nil); return err }},
		{"RemoveFingerprints of a version in use", func(ctx context.Context) error { _, err := s.Store.RemoveFingerprints(ctx, 1, 1); return err }},
	}
}

// contextRules say what a context that has ended does to each method.
var contextRules = []rule{
	{Rule{"store/ended-context", "A call whose context has ended returns an error that is none of the sentinels."}, 0,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			allFail(conformance.Ended(t), t, s.storeCalls(x))
			allFail(conformance.Ended(t), t, s.failingCalls(x))
			s.hasSample(t, x)
			allWork(t, s.storeCalls(x))
			s.hasSample(t, x)
		}},

	{Rule{"store/errors-hold-nothing", "An error never holds a fingerprint or a ciphertext."}, 0,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			f := fingerprintOf(1, "ann")
			secrets := []string{string(x.rows[0].Sealed.Ciphertext), string(f[:]), "sealed "}
			for _, c := range append(s.failingCalls(x),
				call{"InsertTokens without a required version", func(ctx context.Context) error {
					_, err := s.Store.InsertTokens(ctx, orgA, x.vault.ID, 1, rowsOf(x.vault, []vault.Row{row("t7", email, "ann", 1)}))
					return err
				}},
				call{"InsertTokens with an ended context", func(context.Context) error {
					_, err := s.Store.InsertTokens(conformance.Ended(t), orgA, x.vault.ID, 1, rowsOf(x.vault, []vault.Row{row("t7", email, "ann", 1, 2)}))
					return err
				}},
			) {
				err := c.do(t.Context())
				require.Error(t, err, c.name)
				holdsNone(t, err, secrets...)
			}
		}},
}
