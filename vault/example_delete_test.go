package vault_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
)

// A customer leaves. The deletion is called until nothing is left; it does not matter how
// often it is cut off, or by whom it is called again.
func ExampleService_DeleteOrganization() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		panic(err)
	}
	s := exampleService(db.Vault().Store, exampleKey(1))
	if _, err := s.CreateVault(ctx, "acme", "ops", "v1", exampleSchema); err != nil {
		panic(err)
	}
	for more := true; more; {
		if more, err = s.DeleteOrganization(ctx, "acme", "ops"); err != nil {
			panic(err)
		}
	}
	_, err = s.Vault(ctx, "acme", "v1")
	fmt.Println(errors.Is(err, mortise.ErrNotFound))
	_, err = s.CreateVault(ctx, "acme", "ops", "v2", exampleSchema)
	fmt.Println(errors.Is(err, mortise.ErrDeleted))
	for e, err := range s.AuditEvents(ctx, "acme", vault.AuditQuery{}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Kind, "by", e.Actor)
	}
	// Output:
	// true
	// true
	// organization_deleted by ops
}

// A vault goes alone. Its organization's audit trail keeps what was done to it.
func ExampleService_DeleteVault() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	if err != nil {
		panic(err)
	}
	s := exampleService(db.Vault().Store, exampleKey(1))
	if _, err := s.CreateVault(ctx, "acme", "ops", "v1", exampleSchema); err != nil {
		panic(err)
	}
	for more := true; more; {
		if more, err = s.DeleteVault(ctx, "acme", "ops", "v1"); err != nil {
			panic(err)
		}
	}
	_, err = s.CreateVault(ctx, "acme", "ops", "v1", exampleSchema)
	fmt.Println(err)
	// Output:
	// mortise: deleted, and its ID is never reused; use another ID: vault "v1"
}
