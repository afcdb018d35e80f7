package vault_test

import (
	"context"
	"fmt"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
)

// The numbers of an organization's dashboard, and of the metrics of those who run the service.
func ExampleService_Stats() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		panic(err)
	}
	s := exampleService(db.Vault().Store, exampleKey(1))
	if _, err := s.CreateVault(ctx, "acme", "ops", "v1", exampleSchema); err != nil {
		panic(err)
	}
	tokens, err := s.Insert(ctx, "acme", "shop", "v1", []vault.Item{
		{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("ada@example.com")},
		{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("bob@example.com")},
		{Place: vault.InColumn("persons", "card"), Value: vault.NewValue("4111111111111111")},
	})
	if err != nil {
		panic(err)
	}
	if err := s.Delete(ctx, "acme", "shop", "v1", tokens[1]); err != nil {
		panic(err)
	}
	stats, err := s.Stats(ctx, "acme")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s tokens in %s vaults, %s were deleted\n", stats.Tokens, stats.Vaults, stats.Deleted)

	// In the middle of a rotation: the new key is the primary one already.
	all, err := exampleService(db.Vault().Store, exampleKey(2), exampleKey(1)).StatsAll(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Printf("of %s tokens, %s are still sealed with another key\n", all.Tokens, all.ToRewrap)
	// Output:
	// 2 tokens in 1 vaults, 1 were deleted
	// of 2 tokens, 2 are still sealed with another key
}
