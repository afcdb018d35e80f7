package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// A customer's card gets its token first: that takes keys and time. Then the customer's row
// and the request to document the account are stored together, or not at all.
func ExampleDB_InTx() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "mortise")
	check(err)
	defer func() { _ = os.RemoveAll(folder) }()
	db, err := sqlite.Open(ctx, filepath.Join(folder, "shop.db"), nil)
	check(err)
	defer func() { _ = db.Close() }()
	root, err := localkeys.NewRoot([]byte("not random, for examples only 01"))
	check(err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	check(err)
	cards, err := vault.New(db.Vault(), keyring, nil)
	check(err)
	_, err = cards.CreateVault(ctx, "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{Name: "customers", Columns: []vault.Column{
		{Name: "card", Tokenization: vault.Deterministic, Format: "digits:luhn,last4"},
	}}}})
	check(err)
	requests, err := trigger.New(db.Trigger(), nil)
	check(err)
	check(db.InTx(ctx, func(ctx context.Context, tx *sqlite.Tx) error { // when the program is deployed
		_, err := tx.ExecContext(ctx, "CREATE TABLE customers (name TEXT PRIMARY KEY, card TEXT)")
		return err
	}))

	tokens, err := cards.Insert(ctx, "acme", "shop", "v1", []vault.Item{
		{Place: vault.InColumn("customers", "card"), Value: vault.NewValue("4111111111111111")},
	})
	check(err)
	for range 2 {
		err := db.InTx(ctx, func(ctx context.Context, tx *sqlite.Tx) error {
			_, err := requests.Submit(ctx, "acme", "shop", trigger.Submission{Instructions: "Document Ada's account."})
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, "INSERT INTO customers (name, card) VALUES (?, ?)", "Ada", tokens[0])
			return err
		})
		fmt.Println(err == nil)
	}
	page, err := requests.ListEvents(ctx, "acme", trigger.EventQuery{Limit: 10})
	check(err)
	fmt.Println(len(page.Items), "request")
	// Output:
	// true
	// false
	// 1 request
}
