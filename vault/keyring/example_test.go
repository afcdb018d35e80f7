package keyring_test

import (
	"context"
	"fmt"

	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// audited is a keyring around another one: it notes what is opened, and takes no more at
// once than the service behind it does.
type audited struct {
	keyring.Keyring
	opened []string // tokens
}

func (*audited) Limits() keyring.Limits { return keyring.Limits{Items: 100} }

func (k *audited) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	for i := range items {
		k.opened = append(k.opened, items[i].Token)
	}
	return k.Keyring.Open(ctx, items)
}

func ExampleKeyring() {
	ctx := context.Background()
	root, err := localkeys.NewRoot([]byte("an example's root key of 32 byte"))
	if err != nil {
		fmt.Println(err)
		return
	}
	local, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	if err != nil {
		fmt.Println(err)
		return
	}
	k := &audited{Keyring: local}
	scope := keyring.Scope{Organization: "acme", Vault: "customers", Name: "persons.email"}
	sealed, err := k.Seal(ctx, []keyring.SealItem{
		{Scope: scope, Token: "tok_1", Value: keyring.NewValue("ada@example.com")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	opened, err := k.Open(ctx, []keyring.OpenItem{
		{Scope: scope, Token: "tok_1", Sealed: sealed[0].Sealed},
		{Scope: scope, Token: "tok_2", Sealed: sealed[0].Sealed},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(opened[0].Value, opened[0].Value.Reveal())
	fmt.Println(opened[1].Err)
	fmt.Println(k.opened)
	// Output:
	// [redacted] ada@example.com
	// vault: a stored value is corrupt
	// [tok_1 tok_2]
}
