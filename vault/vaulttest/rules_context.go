package vaulttest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

type call = conformance.Call

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
	sameVaults(t, []vault.Vault{x.vault}, s.listVaults(t, orgA))
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
	e := func() vault.AuditEvent { return newEvent(orgB, mortise.KindSchemaChanged, "x", 0) }
	insert := func(ctx context.Context) (string, error) {
		r := row(uuid.NewString(), email, uuid.NewString(), 1, 2)
		_, err := s.Store.InsertTokens(ctx, orgB, "b", 1, rowsOf(b, []vault.Row{r}))
		return r.Token, err
	}
	return []call{
		conformance.CallOf("Vault", s.Store.Vault, orgA, v.ID),
		conformance.CallOf("ListVaults", s.Store.ListVaults, orgA, mortise.Cursor(""), 10),
		conformance.CallOf("PutVault", s.Store.PutVault, newVault(orgB, uuid.NewString()), nil, e()),
		conformance.CallOf("FindTokens", s.Store.FindTokens, orgA, v.ID, 1, []vault.Lookup{{Scope: email, Version: 1, Fingerprints: []keyring.Fingerprint{{1}}}}),
		conformance.CallOf("InsertTokens", func(ctx context.Context) error { _, err := insert(ctx); return err }),
		conformance.CallOf("ImportTokens", func(ctx context.Context) error {
			r := row(uuid.NewString(), email, uuid.NewString(), 1, 2)
			return s.Store.ImportTokens(ctx, orgB, "b", 1, rowsOf(b, []vault.Row{r}), e())
		}),
		conformance.CallOf("Rows", s.Store.Rows, orgA, v.ID, []string{"t1", "t9"}),
		conformance.CallOf("ListRows", s.Store.ListRows, orgA, v.ID, mortise.Cursor(""), 10),
		conformance.CallOf("DeleteToken", func(ctx context.Context) error {
			token, err := insert(context.WithoutCancel(ctx))
			if err != nil {
				return err
			}
			return s.Store.DeleteToken(ctx, orgB, "b", token, e())
		}),
		conformance.CallOf("Keys", s.Store.Keys),
		conformance.CallOf("RegisterKey", s.Store.RegisterKey, newKey(keyring.SealKey, 1)),
		conformance.CallOf("RequireKey", s.Store.RequireKey, 2),
		conformance.CallOf("RetireKey", s.Store.RetireKey, keyring.FingerprintKey, 3, 1),
		conformance.CallOf("KeyUsage", s.Store.KeyUsage),
		conformance.CallOf("RowsWithoutFingerprint", s.Store.RowsWithoutFingerprint, 2, "", 10),
		conformance.CallOf("AddFingerprints", s.Store.AddFingerprints, 2, []vault.RowFingerprint{filling(v, "t1", 2, "ann")}),
		conformance.CallOf("RowsNotSealedUnder", s.Store.RowsNotSealedUnder, 1, "", 10),
		conformance.CallOf("Reseal", s.Store.Reseal, []vault.Resealed{{Row: none, From: x.rows[0].Sealed, To: x.rows[0].Sealed}}),
		conformance.CallOf("RemoveFingerprints", s.Store.RemoveFingerprints, 3, 10),
		conformance.CallOf("AddAuditEvent", s.Store.AddAuditEvent, e()),
		conformance.CallOf("ListAuditEvents", s.List, orgA, audittest.Everything),
		conformance.CallOf("PruneAudit", func(ctx context.Context) error {
			_, _, err := s.Store.PruneAudit(ctx, moment(-100_000*time.Hour), 10) // before everything
			return err
		}),
		conformance.CallOf("MarkDeleted", s.Store.MarkDeleted, "deleted", moment(0), e()),
		conformance.CallOf("RemoveDeleted", func(ctx context.Context) error {
			if _, err := s.Store.MarkDeleted(context.WithoutCancel(ctx), "deleted", moment(0), vault.AuditEvent{}); err != nil {
				return err
			}
			_, _, err := s.Store.RemoveDeleted(ctx, "deleted", 1)
			return err
		}),
		conformance.CallOf("MarkVaultDeleted", func(ctx context.Context) error {
			return s.deletesNew(ctx, uuid.NewString(), context.WithoutCancel(ctx))
		}),
		conformance.CallOf("RemoveDeletedVault", func(ctx context.Context) error {
			id := uuid.NewString()
			if err := s.deletesNew(context.WithoutCancel(ctx), id, context.WithoutCancel(ctx)); err != nil {
				return err
			}
			_, _, err := s.Store.RemoveDeletedVault(ctx, orgB, id, 1)
			return err
		}),
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

// failingCalls are calls that would be refused if nothing were wrong.
func (s *subject) failingCalls(x *sample) []call {
	v := x.vault
	return []call{
		conformance.CallOf("Vault that is not there", s.Store.Vault, orgB, "unknown"),
		conformance.CallOf("PutVault that is there", s.Store.PutVault, v.Clone(), nil, vault.AuditEvent{}),
		conformance.CallOf("FindTokens of another revision", s.Store.FindTokens, orgA, v.ID, 7, nil),
		conformance.CallOf("InsertTokens of a token that is there", s.Store.InsertTokens, orgA, v.ID, 1, rowsOf(v, []vault.Row{row("t1", email, "other", 1, 2)})),
		conformance.CallOf("ImportTokens of a token that is there", func(ctx context.Context) error {
			rows := rowsOf(v, []vault.Row{row("t1", email, "other", 1, 2), row("t7", email, "ann", 1, 2)})
			return s.Store.ImportTokens(ctx, orgA, v.ID, 1, rows, newEvent(orgA, mortise.KindImported, v.ID, 0))
		}),
		conformance.CallOf("Rows of no vault", s.Store.Rows, orgB, "unknown", nil),
		conformance.CallOf("ListRows of no vault", s.Store.ListRows, orgB, "unknown", mortise.Cursor(""), 1),
		conformance.CallOf("DeleteToken that is not there", s.Store.DeleteToken, orgA, v.ID, "t9", vault.AuditEvent{}),
		conformance.CallOf("MarkVaultDeleted of no vault", s.Store.MarkVaultDeleted, orgB, "unknown", moment(0), vault.AuditEvent{}),
		conformance.CallOf("RemoveDeletedVault that is not marked", s.Store.RemoveDeletedVault, orgA, v.ID, 1),
		conformance.CallOf("RemoveDeleted that is not marked", s.Store.RemoveDeleted, orgA, 1),
		conformance.CallOf("RequireKey of none", s.Store.RequireKey, 9),
		conformance.CallOf("RetireKey of none", s.Store.RetireKey, keyring.SealKey, 9, 0),
		conformance.CallOf("AddFingerprints of a retired version", s.Store.AddFingerprints, 3, nil),
		conformance.CallOf("RemoveFingerprints of a version in use", s.Store.RemoveFingerprints, 1, 1),
	}
}

// contextRules say what a context that has ended does to each method.
var contextRules = []rule{
	{Rule{"store/ended-context", "A call whose context has ended returns an error that is none of the sentinels."}, 0,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			conformance.AllFail(conformance.Ended(t), t, s.storeCalls(x), isFailure)
			conformance.AllFail(conformance.Ended(t), t, s.failingCalls(x), isFailure)
			s.hasSample(t, x)
			conformance.AllWork(t, s.storeCalls(x))
			s.hasSample(t, x)
		}},

	{Rule{"store/left-at-any-look", conformance.AnyLook}, 0,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			conformance.EveryLook(t, func() []call { return s.storeCalls(x) }, isFailure)
			s.hasSample(t, x)
		}},

	{Rule{"store/errors-hold-nothing", "An error never holds a fingerprint or a ciphertext."}, 0,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			f := fingerprintOf(1, "ann")
			secrets := []string{string(x.rows[0].Sealed.Ciphertext), string(f[:]), "sealed "}
			for _, c := range append(s.failingCalls(x),
				conformance.CallOf("InsertTokens without a required version", s.Store.InsertTokens, orgA, x.vault.ID, 1, rowsOf(x.vault, []vault.Row{row("t7", email, "ann", 1)})),
				conformance.CallOf("InsertTokens with an ended context", func(context.Context) error {
					_, err := s.Store.InsertTokens(conformance.Ended(t), orgA, x.vault.ID, 1, rowsOf(x.vault, []vault.Row{row("t7", email, "ann", 1, 2)}))
					return err
				}),
			) {
				err := c.Do(t.Context())
				require.Error(t, err, c.Name)
				holdsNone(t, err, secrets...)
			}
		}},
}
