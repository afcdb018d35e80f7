package localkeys_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// keyrings returns how to open keyrings of an installation, whose root keys begin with a
// byte of their own.
func keyrings(installation byte) func(t *testing.T, generations ...int) keyring.Keyring {
	return func(t *testing.T, generations ...int) keyring.Keyring {
		t.Helper()
		keys := make([]localkeys.Key, len(generations))
		for i, version := range generations {
			bytes := make([]byte, localkeys.RootSize)
			bytes[0], bytes[1] = installation, byte(version)
			root, err := localkeys.NewRoot(bytes)
			require.NoError(t, err)
			keys[i] = localkeys.Key{Version: version, Root: root}
		}
		k, err := localkeys.New(keys[0], keys[1:]...)
		require.NoError(t, err)
		return k
	}
}

func TestKeyring(t *testing.T) {
	vaulttest.RunKeyring(t, vaulttest.KeyringHarness{Open: keyrings(1), Foreign: keyrings(2)})
}
