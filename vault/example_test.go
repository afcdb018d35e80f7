package vault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// exampleKey stands for 32 random bytes that the host keeps outside of its database.
func exampleKey(version int) localkeys.Key {
	root, err := localkeys.NewRoot([]byte(fmt.Sprintf("not random, for examples only %02d", version)))
	if err != nil {
		panic(err)
	}
	return localkeys.Key{Version: version, Root: root}
}

func exampleService(store vault.Store, primary localkeys.Key, others ...localkeys.Key) *vault.Service {
	keyring, err := localkeys.New(primary, others...)
	if err != nil {
		panic(err)
	}
	s, err := vault.New(vault.Backend{Store: store}, keyring, nil)
	if err != nil {
		panic(err)
	}
	return s
}

var exampleSchema = vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
	{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "prefix:mail_"},
	{Name: "card", Tokenization: vault.Deterministic, Format: "digits:luhn,last4"},
}}}}

// A value is inserted, asked for its token, and shown to somebody who may see a part of it.
func Example() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := exampleService(db.Vault().Store, exampleKey(1))
	if _, err := s.CreateVault(ctx, "acme", "ops", "v1", exampleSchema); err != nil {
		fmt.Println(err)
		return
	}
	card := []vault.Item{{Place: vault.InColumn("persons", "card"), Value: vault.NewValue("4111111111111111")}}
	_, err = s.Tokenize(ctx, "acme", "v1", card)
	fmt.Println(err)

	inserted, err := s.Insert(ctx, "acme", "shop", "v1", card)
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens, err := s.Tokenize(ctx, "acme", "v1", card)
	fmt.Println(tokens[0] == inserted[0], len(tokens[0]), strings.HasSuffix(tokens[0], "1111"), err)

	shown, err := s.Detokenize(ctx, "acme", "support", "v1", []vault.DetokenizeItem{{Token: tokens[0]}}, func(vault.Field) vault.Redaction { return vault.Masked })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shown[0].Value, shown[0].Value.Reveal())
	// Output:
	// item 0: vault: the value has no token
	// true 16 true <nil>
	// [redacted] ********1111
}

// A value keeps the token that another vault gave it. The page can be repeated; an item that
// contradicts what is stored is named.
func ExampleService_Import() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := exampleService(db.Vault().Store, exampleKey(1))
	if _, err := s.CreateVault(ctx, "acme", "ops", "v1", exampleSchema); err != nil {
		fmt.Println(err)
		return
	}
	email := vault.InColumn("persons", "email")
	page := []vault.ImportItem{
		{Item: vault.Item{Place: email, Value: vault.NewValue("ada@example.com")}, Token: "mail_q3f6yzk2n7w4j5x2m6t7b3c5aa"},
		{Item: vault.Item{Place: email, Value: vault.NewValue("bob@example.com")}, Token: "mail_7b3c5q3f6yzk2n7w4j5x2m6taa"},
	}
	fmt.Println(s.Import(ctx, "acme", "mover", "v1", page))
	fmt.Println(s.Import(ctx, "acme", "mover", "v1", page))

	bob := []vault.Item{{Place: vault.InGroup("emails"), Value: vault.NewValue("bob@example.com")}}
	tokens, err := s.Tokenize(ctx, "acme", "v1", bob)
	fmt.Println(tokens, err)

	page[1].Token = "mail_another3f6yzk2n7w4j5x2m6ta"
	err = s.Import(ctx, "acme", "mover", "v1", page)
	fmt.Println(err, errors.Is(err, vault.ErrTokenConflict))
	// Output:
	// <nil>
	// <nil>
	// [mail_7b3c5q3f6yzk2n7w4j5x2m6taa] <nil>
	// item 1: vault: the token and its value contradict what is stored: the value has another token, or the token was deleted true
}

// The keys are changed in five steps. The token stays.
func Example_rotation() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	before := exampleService(db.Vault().Store, exampleKey(1))
	if _, err := before.CreateVault(ctx, "acme", "ops", "v1", exampleSchema); err != nil {
		fmt.Println(err)
		return
	}
	ada := []vault.Item{{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("ada@example.com")}}
	inserted, err := before.Insert(ctx, "acme", "shop", "v1", ada)
	if err != nil {
		fmt.Println(err)
		return
	}

	// 1. load the new version beside the old one, everywhere.
	added := exampleService(db.Vault().Store, exampleKey(1), exampleKey(2))
	// 2. give each value a fingerprint of it.
	err = added.Backfill(ctx, 2, nil)
	fmt.Println("backfill", err)
	// 3. make it the primary one, everywhere.
	promoted := exampleService(db.Vault().Store, exampleKey(2), exampleKey(1))
	// 4. seal each value with it.
	err = promoted.Rewrap(ctx, nil)
	fmt.Println("rewrap", err)
	// 5. forget the old one.
	err = errors.Join(promoted.Retire(ctx, keyring.FingerprintKey, 1, nil), promoted.Retire(ctx, keyring.SealKey, 1, nil))
	fmt.Println("retire", err)

	after := exampleService(db.Vault().Store, exampleKey(2))
	tokens, err := after.Tokenize(ctx, "acme", "v1", ada)
	fmt.Println(tokens[0] == inserted[0], err)
	// Output:
	// backfill <nil>
	// rewrap <nil>
	// retire <nil>
	// true <nil>
}

// What the service does can be counted, without a value in it.
func ExampleObserver() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	keys, err := localkeys.New(exampleKey(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := vault.New(db.Vault(), keys, &vault.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
		fmt.Println(o.Kind, o.Organization, o.Object, o.Items, o.Err)
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = s.CreateVault(ctx, "acme", "ops", "v1", exampleSchema)
	ada := []vault.Item{{Place: vault.InGroup("emails"), Value: vault.NewValue("ada@example.com")}}
	_, _ = s.Tokenize(ctx, "acme", "v1", ada)
	// Output:
	// vault_created acme v1 1 <nil>
	// tokenized acme v1 1 item 0: vault: the value has no token
}
