package tink_test

import (
	"context"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/tink"
)

// must ends an example that goes wrong. A host handles the error.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// The keysets are made once, sealed by a key of a KMS, and stored with the configuration.
// Each process asks the KMS to open them when it starts.
func Example() {
	ctx := context.Background()
	kms := newKMS() // a registry.KMSClient, as the packages for Google Cloud, AWS and Vault have them
	kek := must(kms.GetAEAD("test-kms://vault"))
	fingerprints, seals, err := tink.Generate(kek)
	if err != nil {
		panic(err)
	}

	keys := must(tink.Read(fingerprints, seals, kek))
	db := must(memory.Open(ctx, nil))
	service := must(vault.New(db.Vault(), keys, nil))

	must(service.CreateVault(ctx, "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Format: "email"},
	}}}}))
	ada := []vault.Item{{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("ada@example.com")}}
	inserted := must(service.Insert(ctx, "acme", "ops", "v1", ada))
	found := must(service.Tokenize(ctx, "acme", "v1", ada))
	fmt.Println(found[0] == inserted[0], keys)
	// Output: true [redacted]
}

// A rotation changes the sealed keysets three times, and every process loads them after
// each.
func Example_rotation() {
	ctx := context.Background()
	kek := must(newKMS().GetAEAD("test-kms://vault"))
	fingerprints, seals, err := tink.Generate(kek)
	if err != nil {
		panic(err)
	}
	keys := must(tink.Read(fingerprints, seals, kek))
	db := must(memory.Open(ctx, nil))
	service := must(vault.New(db.Vault(), keys, nil))
	must(service.CreateVault(ctx, "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Format: "email"},
	}}}}))
	ada := []vault.Item{{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("ada@example.com")}}
	before := must(service.Insert(ctx, "acme", "ops", "v1", ada))
	old := must(keys.Versions(ctx))

	// 1. Add a key to each keyset. All processes load it, for lookups only.
	var newFingerprint, newSeal uint32
	fingerprints = must(tink.Update(fingerprints, kek, func(m *keyset.Manager) (err error) {
		newFingerprint, err = m.Add(prf.HMACSHA256PRFKeyTemplate())
		return err
	}))
	seals = must(tink.Update(seals, kek, func(m *keyset.Manager) (err error) {
		newSeal, err = m.Add(aead.XAES256GCM192BitNonceKeyTemplate())
		return err
	}))
	fmt.Println("load", keys.Replace(must(tink.Read(fingerprints, seals, kek))))

	// 2. Give each value a fingerprint of the new key.
	fmt.Println("backfill", service.Backfill(ctx, int(newFingerprint), nil))

	// 3. Make the new keys the primary ones. All processes load that.
	fingerprints = must(tink.Update(fingerprints, kek, func(m *keyset.Manager) error { return m.SetPrimary(newFingerprint) }))
	seals = must(tink.Update(seals, kek, func(m *keyset.Manager) error { return m.SetPrimary(newSeal) }))
	fmt.Println("promote", keys.Replace(must(tink.Read(fingerprints, seals, kek))))

	// 4. Seal each value with the new key.
	fmt.Println("rewrap", service.Rewrap(ctx, nil))

	// 5. Forget the old keys, in the store and then in the keysets.
	fmt.Println("retire", service.Retire(ctx, keyring.FingerprintKey, old.Fingerprint, nil), service.Retire(ctx, keyring.SealKey, old.Seal, nil))
	fingerprints = must(tink.Update(fingerprints, kek, func(m *keyset.Manager) error { return m.Delete(uint32(old.Fingerprint)) }))
	seals = must(tink.Update(seals, kek, func(m *keyset.Manager) error { return m.Delete(uint32(old.Seal)) }))
	fmt.Println("load", keys.Replace(must(tink.Read(fingerprints, seals, kek))))

	after := must(service.Tokenize(ctx, "acme", "v1", ada))
	fmt.Println("same token:", after[0] == before[0])
	// Output:
	// load <nil>
	// backfill <nil>
	// promote <nil>
	// rewrap <nil>
	// retire <nil> <nil>
	// load <nil>
	// same token: true
}
