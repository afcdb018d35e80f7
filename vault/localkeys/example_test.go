package localkeys_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// The root key is in a file, as `openssl rand -hex 32` writes it.
func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "vault.key")
	err = os.WriteFile(file, []byte("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"), 0o600) // not random, for the example only
	if err != nil {
		fmt.Println(err)
		return
	}

	root, err := localkeys.RootFromFile(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := memory.Open(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	service, err := vault.New(db.Vault(), keyring, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(service.CheckKeys(context.Background()), root, keyring)

	_, err = localkeys.ParseRoot("0123456789abcdef")
	fmt.Println(err)
	// Output:
	// <nil> [redacted] [redacted]
	// localkeys: a root key must be written as 32 bytes in hex (64 digits) or base64, as openssl rand -hex 32 prints them; this one has 8 bytes
}
