package vault_test

import (
	"context"
	"fmt"

	"github.com/seed-6363c74e/mortise/storage/memory"
)

// The vaults of an organization, on pages as a screen shows them, and all of them.
func ExampleService_ListVaults() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		panic(err)
	}
	s := exampleService(db.Vault().Store, exampleKey(1))
	for _, id := range []string{"shop", "staff", "archive"} {
		if _, err := s.CreateVault(ctx, "acme", "ops", id, exampleSchema); err != nil {
			panic(err)
		}
	}
	page, err := s.ListVaults(ctx, "acme", "", 2)
	if err != nil {
		panic(err)
	}
	for _, v := range page.Items {
		fmt.Println(v.ID, "with", v.Schema.Tables[0].Name)
	}
	fmt.Println("there is a next page:", page.Next != "")

	for v, err := range s.Vaults(ctx, "acme") {
		if err != nil {
			panic(err)
		}
		fmt.Println(v.ID)
	}
	// Output:
	// archive with persons
	// shop with persons
	// there is a next page: true
	// archive
	// shop
	// staff
}
