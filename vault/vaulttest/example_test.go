package vaulttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

func ExampleNew() {
	t := new(testing.T) // a test has its own

	f := vaulttest.New(t, nil)
	ctx := context.Background()
	_, err := f.CreateVault(ctx, "acme", "user:bob", "customers", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "card", Tokenization: vault.Deterministic, Format: "digits:luhn,last4"},
	}}}})
	if err != nil {
		panic(err)
	}
	f.Advance(24 * time.Hour)
	card := []vault.Item{{Place: vault.InColumn("persons", "card"), Value: vault.NewValue("4111111111111111")}}
	tokens, err := f.Insert(ctx, "acme", "user:bob", "customers", card)
	if err != nil {
		panic(err)
	}

	if err := f.Rotate(ctx); err != nil {
		panic(err)
	}
	same, err := f.Tokenize(ctx, "acme", "customers", card)
	fmt.Println(same[0] == tokens[0], err)

	masked := func(vault.Field) vault.Redaction { return vault.Masked }
	shown, err := f.Detokenize(ctx, "acme", "user:ann", "customers", []vault.DetokenizeItem{{Token: tokens[0]}}, masked)
	fmt.Println(shown[0].Value.Reveal(), err)
	for _, e := range f.AuditTrail() {
		fmt.Println(e.At.Format(time.DateTime), e.Kind, "by", e.Actor)
	}
	// Output:
	// true <nil>
	// ********1111 <nil>
	// 2026-01-01 00:00:00 vault_created by user:bob
	// 2026-01-02 00:00:00 detokenized by user:ann
}

func ExampleFake_Break() {
	t := new(testing.T) // a test has its own

	f := vaulttest.New(t, nil)
	ctx := context.Background()
	_, err := f.CreateVault(ctx, "acme", "user:bob", "customers", persons)
	if err != nil {
		panic(err)
	}
	ann := []vault.Item{{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("ann@example.com")}}

	heal := f.Break(vaulttest.KeyringPart)
	_, err = f.Tokenize(ctx, "acme", "customers", ann)
	fmt.Println(errors.Is(err, mortise.ErrUnavailable), errors.Is(err, vault.ErrValueNotFound))

	heal()
	_, err = f.Tokenize(ctx, "acme", "customers", ann)
	fmt.Println(errors.Is(err, mortise.ErrUnavailable), errors.Is(err, vault.ErrValueNotFound))
	// Output:
	// true false
	// false true
}

func ExampleFaults() {
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	root, err := localkeys.NewRoot([]byte("32 bytes for tests, nothing else"))
	if err != nil {
		panic(err)
	}
	keys, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	if err != nil {
		panic(err)
	}
	// The first insertion is done, and its answer is lost.
	faults := &vaulttest.Faults{After: vaulttest.On(vaulttest.Nth(1), "Tokens.InsertTokens")}
	service, err := vault.New(vault.Backend{Store: faults.Store(db.Vault().Store)}, keys, nil)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if _, err := service.CreateVault(ctx, "acme", "user:bob", "customers", persons); err != nil {
		panic(err)
	}
	ann := []vault.Item{{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("ann@example.com")}}
	_, err = service.Insert(ctx, "acme", "user:bob", "customers", ann)
	fmt.Println(err)
	tokens, err := service.Insert(ctx, "acme", "user:bob", "customers", ann) // so it is repeated
	fmt.Println(len(tokens), err)
	// Output:
	// mortise: unavailable: insert values: vaulttest: injected failure
	// 1 <nil>
}

func ExampleOutage() {
	hook, heal := vaulttest.Outage()
	fmt.Println(hook("Tokens.Rows"))
	heal()
	fmt.Println(hook("Tokens.Rows"))
	// Output:
	// vaulttest: injected failure
	// <nil>
}

func ExampleSometimes() {
	hook := vaulttest.Sometimes(0.5, 42)
	failed := 0
	for range 1000 {
		if hook("Tokens.Rows") != nil {
			failed++
		}
	}
	fmt.Println(failed > 400 && failed < 600)
	// Output: true
}

// A keyring of one's own proves itself like this, in a test.
func ExampleRunKeyring() {
	myKeyrings := func(t *testing.T, generations ...int) keyring.Keyring { return testKeyring(t, 1, generations...) }
	TestKeyring := func(t *testing.T) { vaulttest.RunKeyring(t, vaulttest.KeyringHarness{Open: myKeyrings}) }
	_ = TestKeyring
}
