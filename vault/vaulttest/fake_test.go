package vaulttest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// persons has a deterministic column and a random one.
var persons = vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
	{Name: "email", Tokenization: vault.Deterministic, Format: "email"}, {Name: "phone", Tokenization: vault.Random, Format: "digits"},
}}}}

// newFake returns a fake with a vault "customers" of acme.
func newFake(t *testing.T, opts *vaulttest.Options) *vaulttest.Fake {
	t.Helper()
	f := vaulttest.New(t, opts)
	_, err := f.CreateVault(t.Context(), "acme", "user:ops", "customers", persons)
	require.NoError(t, err)
	return f
}

func emailItems(values ...string) []vault.Item {
	items := make([]vault.Item, len(values))
	for i, value := range values {
		items[i] = vault.Item{Place: vault.InColumn("persons", "email"), Value: vault.NewValue(value)}
	}
	return items
}

func everything(vault.Field) vault.Redaction { return vault.PlainText }

func TestFake(t *testing.T) {
	f := vaulttest.New(t, nil)
	assert.Empty(t, f.AuditTrail())
	start := f.Now()
	for i, org := range []string{"b", "a", "b"} {
		_, err := f.CreateVault(t.Context(), org, "user:ops", fmt.Sprint("v", i), persons)
		require.NoError(t, err)
		f.Advance(time.Second)
	}
	assert.Equal(t, start.Add(3*time.Second), f.Now())
	var orgs []string
	for _, e := range f.AuditTrail() {
		orgs = append(orgs, e.Organization)
		assert.Equal(t, mortise.KindVaultCreated, e.Kind)
	}
	assert.Equal(t, []string{"b", "a", "b"}, orgs, "oldest first")
	observed := f.Observations()
	assert.Len(t, observed, 3)
	observed[0].Kind = "changed"
	assert.NotEqual(t, observed[0], f.Observations()[0], "a copy")
}

// TestEventsAreInOrder: what happened at one time is shown as it happened.
func TestEventsAreInOrder(t *testing.T) {
	f := newFake(t, nil)
	for i := range 20 {
		tokens, err := f.Insert(t.Context(), "acme", "user:ops", "customers", emailItems(fmt.Sprintf("ann%d@example.com", i)))
		require.NoError(t, err)
		_, err = f.Detokenize(t.Context(), "acme", "user:ops", "customers", []vault.DetokenizeItem{{Token: tokens[0]}}, everything)
		require.NoError(t, err)
		require.NoError(t, f.Delete(t.Context(), "acme", "user:ops", "customers", tokens[0]))
	}
	for i, e := range f.AuditTrail()[1:] {
		assert.Equal(t, []mortise.Kind{mortise.KindDetokenized, mortise.KindDeleted}[i%2], e.Kind, i)
	}
}

func TestFakeKeepsTheHostsSettings(t *testing.T) {
	heard := 0
	f := newFake(t, &vaulttest.Options{Service: vault.Options{
		Tokenizer: &format.Standard{EmailDomain: "own.example.com"}, MaxItems: 2,
		Env: mortise.Env{Observer: func(context.Context, mortise.Observation) { heard++ }},
	}})
	tokens, err := f.Insert(t.Context(), "acme", "user:ops", "customers", emailItems("ann@example.com"))
	require.NoError(t, err)
	assert.Contains(t, tokens[0], "@own.example.com")
	_, err = f.Insert(t.Context(), "acme", "user:ops", "customers", emailItems("a@example.com", "b@example.com", "c@example.com"))
	require.ErrorIs(t, err, vault.ErrInvalid)
	assert.Equal(t, len(f.Observations()), heard)
}

func TestBreak(t *testing.T) {
	f := newFake(t, nil)
	ann := emailItems("ann@example.com")
	tokens, err := f.Insert(t.Context(), "acme", "user:ops", "customers", ann)
	require.NoError(t, err)
	// Each call, and the parts that it needs.
	for name, c := range map[string]struct {
		parts []vaulttest.Part
		call  func() error
	}{
		"Vault": {[]vaulttest.Part{vaulttest.VaultsPart}, func() error { _, err := f.Vault(t.Context(), "acme", "customers"); return err }},
		"ListVaults": {[]vaulttest.Part{vaulttest.VaultsPart}, func() error {
			_, err := f.ListVaults(t.Context(), "acme", "", 0)
			return err
		}},
		"KeyUsage": {[]vaulttest.Part{vaulttest.KeysPart}, func() error { _, err := f.KeyUsage(t.Context()); return err }},
		"Tokenize": {[]vaulttest.Part{vaulttest.TokensPart, vaulttest.KeyringPart}, func() error {
			_, err := f.Tokenize(t.Context(), "acme", "customers", ann)
			return err
		}},
		"Import": {[]vaulttest.Part{vaulttest.TokensPart, vaulttest.ImportsPart, vaulttest.KeyringPart}, func() error {
			return f.Import(t.Context(), "acme", "user:ops", "customers", []vault.ImportItem{{Item: ann[0], Token: tokens[0]}})
		}},
		"Detokenize": {[]vaulttest.Part{vaulttest.VaultsPart, vaulttest.TokensPart, vaulttest.AuditPart, vaulttest.KeyringPart}, func() error {
			_, err := f.Detokenize(t.Context(), "acme", "user:ops", "customers", []vault.DetokenizeItem{{Token: tokens[0]}}, everything)
			return err
		}},
		"Backfill": {[]vaulttest.Part{vaulttest.KeysPart, vaulttest.KeyRotationPart, vaulttest.KeyringPart}, func() error { return f.Backfill(t.Context(), 1, nil) }},
		"AuditEvents": {[]vaulttest.Part{vaulttest.AuditPart}, func() error {
			_, err := f.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{})
			return err
		}},
	} {
		for _, part := range []vaulttest.Part{
			vaulttest.VaultsPart, vaulttest.TokensPart, vaulttest.ImportsPart, vaulttest.KeysPart, vaulttest.KeyRotationPart, vaulttest.AuditPart, vaulttest.KeyringPart,
		} {
			heal := f.Break(part)
			if err := c.call(); slices.Contains(c.parts, part) {
				require.ErrorIs(t, err, mortise.ErrUnavailable, "%s while %s is broken", name, part)
				require.ErrorIs(t, err, vaulttest.ErrInjected)
			} else {
				require.NoError(t, err, "%s while %s is broken", name, part)
			}
			heal()
			require.NoError(t, c.call())
		}
	}
	first, second := f.Break(vaulttest.StorePart), f.Break(vaulttest.StorePart)
	first()
	first()
	_, err = f.Vault(t.Context(), "acme", "customers")
	require.ErrorIs(t, err, vaulttest.ErrInjected, "broken twice, healed once")
	assert.NotEmpty(t, f.AuditTrail(), "a broken fake can be looked at")
	second()
	_, err = f.Vault(t.Context(), "acme", "customers")
	require.NoError(t, err)
}

// TestRotate: tokens outlive rotations, and one that fails at whatever call goes on where
// it was.
func TestRotate(t *testing.T) {
	f := newFake(t, nil)
	ann := emailItems("ann@example.com", "bea@example.com")
	want, err := f.Insert(t.Context(), "acme", "user:ops", "customers", ann)
	require.NoError(t, err)
	for version := 2; version < 5; version++ {
		for _, part := range []vaulttest.Part{vaulttest.KeyringPart, vaulttest.KeysPart, vaulttest.KeyRotationPart, vaulttest.StorePart} {
			heal := f.Break(part)
			require.ErrorIs(t, f.Rotate(t.Context()), vaulttest.ErrInjected)
			heal()
		}
		require.NoError(t, f.Rotate(t.Context()))
		got, err := f.Insert(t.Context(), "acme", "user:ops", "customers", ann)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		values, err := f.Detokenize(t.Context(), "acme", "user:ops", "customers", []vault.DetokenizeItem{{Token: want[1]}}, everything)
		require.NoError(t, err)
		assert.Equal(t, "bea@example.com", values[0].Value.Reveal())
		usage, err := f.KeyUsage(t.Context())
		require.NoError(t, err)
		assert.Equal(t, keyring.Usage{Rows: 2, Deterministic: 2, Fingerprints: map[int]int{version: 2}, Sealed: map[int]int{version: 2}}, usage)
	}
}

func TestFakeIsSafeForConcurrentUse(t *testing.T) {
	f := newFake(t, nil)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 10 {
				heal := f.Break(vaulttest.KeyRotationPart)
				_, err := f.Insert(t.Context(), "acme", "user:ops", "customers", emailItems(fmt.Sprintf("%d-%d@example.com", n, i)))
				assert.NoError(t, err)
				f.Advance(time.Millisecond)
				f.AuditTrail()
				heal()
			}
		})
	}
	wg.Wait()
	assert.Len(t, f.Observations(), 81)
}

func TestFakeGoesByTheClockItIsGiven(t *testing.T) {
	clock := new(vaulttest.Clock)
	clock.Advance(time.Hour)
	f := vaulttest.New(t, &vaulttest.Options{Clock: clock})
	assert.Same(t, clock, f.Clock)
	clock.Advance(time.Minute)
	assert.Equal(t, clock.Now(), f.Now())
	f.Advance(time.Minute)
	assert.Equal(t, clock.Now(), f.Now())
	assert.NotSame(t, vaulttest.New(t, nil).Clock, vaulttest.New(t, nil).Clock, "by default each has its own")
}
