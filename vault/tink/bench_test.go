package tink_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
	"github.com/seed-6363c74e/mortise/vault/tink"
)

// Each measures both keyrings, a value an operation.

type named struct {
	name string
	vault.Keyring
}

func keyrings(b *testing.B) []named {
	kek := newKEK(b)
	fingerprints, seals, err := tink.Generate(kek)
	require.NoError(b, err)
	onTink, err := tink.Read(fingerprints, seals, kek)
	require.NoError(b, err)
	root, err := localkeys.NewRoot(bytes.Repeat([]byte{1}, localkeys.RootSize))
	require.NoError(b, err)
	local, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(b, err)
	return []named{{"tink", onTink}, {"localkeys", local}}
}

func BenchmarkFingerprint(b *testing.B) {
	const batch = 1000
	values := make([]string, batch)
	for i := range values {
		values[i] = fmt.Sprintf("person%d@example.com", i)
	}
	dst := make([]vault.Fingerprint, batch)
	for _, k := range keyrings(b) {
		b.Run(k.name, func(b *testing.B) {
			versions, err := k.Versions(b.Context())
			require.NoError(b, err)
			b.ReportAllocs()
			for left := b.N; left > 0; left -= batch {
				n := min(left, batch)
				if err := k.Fingerprint(b.Context(), versions.Fingerprint, scope, values[:n], dst[:n]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSealAndOpen(b *testing.B) {
	value := []byte("ada@example.com")
	for _, k := range keyrings(b) {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sealed, err := k.Seal(b.Context(), scope, "tok", value)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := k.Open(b.Context(), scope, "tok", sealed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
