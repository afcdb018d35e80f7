package tink_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
	"github.com/seed-6363c74e/mortise/vault/tink"
)

// Each measures both keyrings, a value an operation.

type named struct {
	name string
	keyring.Keyring
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
	items := make([]keyring.FingerprintItem, batch)
	for i := range items {
		items[i] = keyring.FingerprintItem{Scope: scope, Value: keyring.NewValue(fmt.Sprintf("person%d@example.com", i))}
	}
	dst := make([]keyring.Fingerprint, batch)
	for _, k := range keyrings(b) {
		b.Run(k.name, func(b *testing.B) {
			versions, err := k.Versions(b.Context())
			require.NoError(b, err)
			b.ReportAllocs()
			for left := b.N; left > 0; left -= batch {
				n := min(left, batch)
				if err := k.Fingerprint(b.Context(), versions.Fingerprint, items[:n], dst[:n]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSealAndOpen takes values one by one, and a thousand at once.
func BenchmarkSealAndOpen(b *testing.B) {
	for _, k := range keyrings(b) {
		for _, batch := range []int{1, 1000} {
			seals, opens := make([]keyring.SealItem, batch), make([]keyring.OpenItem, batch)
			for i := range seals {
				seals[i] = keyring.SealItem{Scope: scope, Token: fmt.Sprint("tok", i), Value: keyring.NewValue("ada@example.com")}
			}
			b.Run(fmt.Sprintf("%s/%d", k.name, batch), func(b *testing.B) {
				b.ReportAllocs()
				for left := b.N; left > 0; left -= batch {
					n := min(left, batch)
					sealed, err := k.Seal(b.Context(), seals[:n])
					if err != nil {
						b.Fatal(err)
					}
					for i := range sealed {
						opens[i] = keyring.OpenItem{Scope: scope, Token: seals[i].Token, Sealed: sealed[i].Sealed}
					}
					opened, err := k.Open(b.Context(), opens[:n])
					if err != nil || opened[n-1].Err != nil {
						b.Fatal(err, opened[n-1].Err)
					}
				}
			})
		}
	}
}
