package tink_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	tinkgo "github.com/tink-crypto/tink-go/v2/tink"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/tink"
)

// files are the sealed keysets of an installation, as an operator keeps them.
type files struct {
	kek                 tinkgo.AEAD
	fingerprints, seals []byte
}

func newFiles(t testing.TB) *files {
	t.Helper()
	f := &files{kek: newKEK(t)}
	var err error
	f.fingerprints, f.seals, err = tink.Generate(f.kek)
	require.NoError(t, err)
	return f
}

func (f *files) read(t testing.TB) *tink.Keyring {
	t.Helper()
	k, err := tink.Read(f.fingerprints, f.seals, f.kek)
	require.NoError(t, err)
	return k
}

// add adds a key to each keyset and returns their versions.
func (f *files) add(t testing.TB) (fingerprint, seal int) {
	t.Helper()
	one := func(sealed *[]byte, template *tinkpb.KeyTemplate) (version int) {
		f.update(t, sealed, func(m *keyset.Manager) error {
			id, err := m.Add(template)
			version = int(id)
			return err
		})
		return version
	}
	return one(&f.fingerprints, prf.HMACSHA256PRFKeyTemplate()), one(&f.seals, aead.XAES256GCM192BitNonceKeyTemplate())
}

func (f *files) promote(t testing.TB, fingerprint, seal int) {
	t.Helper()
	f.update(t, &f.fingerprints, func(m *keyset.Manager) error { return m.SetPrimary(uint32(fingerprint)) })
	f.update(t, &f.seals, func(m *keyset.Manager) error { return m.SetPrimary(uint32(seal)) })
}

func (f *files) remove(t testing.TB, fingerprint, seal int) {
	t.Helper()
	f.update(t, &f.fingerprints, func(m *keyset.Manager) error { return m.Delete(uint32(fingerprint)) })
	f.update(t, &f.seals, func(m *keyset.Manager) error { return m.Disable(uint32(seal)) })
}

func (f *files) update(t testing.TB, sealed *[]byte, change func(*keyset.Manager) error) {
	t.Helper()
	changed, err := tink.Update(*sealed, f.kek, change)
	require.NoError(t, err)
	*sealed = changed
}

// process is a service with a keyring of its own, as another process has it.
type process struct {
	*vault.Service
	keyring *tink.Keyring
}

func newProcess(t testing.TB, store vault.Store, k *tink.Keyring) *process {
	t.Helper()
	s, err := vault.New(vault.Backend{Store: store}, k, nil)
	require.NoError(t, err)
	return &process{s, k}
}

// newVault makes a vault on memory.
func newVault(t testing.TB, k *tink.Keyring) (vault.Store, *process) {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	p := newProcess(t, db.Vault().Store, k)
	_, err = p.CreateVault(t.Context(), "acme", "ops", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Format: "email"},
	}}}})
	require.NoError(t, err)
	return db.Vault().Store.(*memory.Vault), p
}

func emails(values ...string) []vault.Item {
	var items []vault.Item
	for _, value := range values {
		items = append(items, vault.Item{Place: vault.InColumn("persons", "email"), Value: vault.NewValue(value)})
	}
	return items
}

func insert(t testing.TB, p *process, values ...string) []string {
	t.Helper()
	tokens, err := p.Insert(t.Context(), "acme", "ops", "v1", emails(values...))
	require.NoError(t, err)
	return tokens
}

// requireTokens checks that values have these tokens, and tokens these values.
func requireTokens(t testing.TB, p *process, tokens map[string]string) {
	t.Helper()
	for value, token := range tokens {
		got, err := p.Tokenize(t.Context(), "acme", "v1", emails(value))
		require.NoError(t, err)
		require.Equal(t, []string{token}, got)
		require.Equal(t, []string{token}, insert(t, p, value))
		shown, err := reveal(t, p, token)
		require.NoError(t, err)
		require.Equal(t, value, shown)
	}
}

func reveal(t testing.TB, p *process, token string) (string, error) {
	t.Helper()
	everything := func(vault.Field) vault.Redaction { return vault.PlainText }
	shown, err := p.Detokenize(t.Context(), "acme", "ops", "v1", []vault.DetokenizeItem{{Token: token}}, everything)
	if err != nil {
		return "", err
	}
	return shown[0].Value.Reveal(), nil
}

// Three rotations of the sealed files. Two processes load them one after the other, so
// they are at different steps for a while, and both are in use then.
func TestRotation(t *testing.T) {
	ctx, f := t.Context(), newFiles(t)
	first := *f
	store, a := newVault(t, f.read(t))
	b := newProcess(t, store, f.read(t))
	tokens := make(map[string]string)
	count := 0
	check := func() {
		for _, p := range []*process{a, b} {
			value := fmt.Sprintf("person%d@example.com", count)
			count++
			tokens[value] = insert(t, p, value)[0]
		}
		requireTokens(t, a, tokens)
		requireTokens(t, b, tokens)
	}
	reload := func() {
		require.NoError(t, a.keyring.Replace(f.read(t)))
		check()
		require.NoError(t, b.keyring.Replace(f.read(t)))
		check()
	}
	check()
	for range 3 {
		old, err := a.keyring.Versions(ctx)
		require.NoError(t, err)

		fingerprint, seal := f.add(t)
		reload()
		require.NoError(t, a.Backfill(ctx, fingerprint, nil))
		check()
		f.promote(t, fingerprint, seal)
		reload()
		require.NoError(t, b.Rewrap(ctx, nil))
		check()
		require.NoError(t, a.Retire(ctx, keyring.FingerprintKey, old.Fingerprint, nil))
		check()
		require.NoError(t, b.Retire(ctx, keyring.SealKey, old.Seal, nil))
		check()
		f.remove(t, old.Fingerprint, old.Seal)
		reload()

		usage, err := a.KeyUsage(ctx)
		require.NoError(t, err)
		require.Equal(t, map[int]int{fingerprint: len(tokens)}, usage.Fingerprints)
		require.Equal(t, map[int]int{seal: len(tokens)}, usage.Sealed)
	}
	requireTokens(t, newProcess(t, store, f.read(t)), tokens)
	require.ErrorIs(t, newProcess(t, store, first.read(t)).CheckKeys(ctx), keyring.ErrRetired, "the files as they were at first")
}

// A rotation in one process while goroutines use it. Every value keeps its token.
func TestRotationUnderLoad(t *testing.T) {
	ctx, f := t.Context(), newFiles(t)
	_, p := newVault(t, f.read(t))
	values := []string{"ada@example.com", "bob@example.com", "eve@example.com"}
	want := insert(t, p, values...)

	done := make(chan struct{})
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := p.Insert(ctx, "acme", "ops", "v1", emails(values...))
				switch {
				// It was retired since the service asked for the versions.
				case errors.Is(err, keyring.ErrRetired), errors.Is(err, keyring.ErrUnknownKey):
				case err != nil:
					t.Error(err)
					return
				case got[0] != want[0] || got[1] != want[1] || got[2] != want[2]:
					t.Errorf("%q became %q", want, got)
					return
				}
			}
		})
	}
	for range 3 {
		old, err := p.keyring.Versions(ctx)
		require.NoError(t, err)
		fingerprint, seal := f.add(t)
		require.NoError(t, p.keyring.Replace(f.read(t)))
		require.NoError(t, p.Backfill(ctx, fingerprint, nil))
		f.promote(t, fingerprint, seal)
		require.NoError(t, p.keyring.Replace(f.read(t)))
		require.NoError(t, p.Rewrap(ctx, nil))
		require.NoError(t, p.Retire(ctx, keyring.FingerprintKey, old.Fingerprint, nil))
		require.NoError(t, p.Retire(ctx, keyring.SealKey, old.Seal, nil))
		f.remove(t, old.Fingerprint, old.Seal)
		require.NoError(t, p.keyring.Replace(f.read(t)))
	}
	close(done)
	users.Wait()
	requireTokens(t, p, map[string]string{values[0]: want[0], values[1]: want[1], values[2]: want[2]})
}

// Whoever has other keys finds nothing, and no value gets a second token.
func TestOtherKeysets(t *testing.T) {
	fingerprints, seals := newKeyset(t, prf.HMACSHA256PRFKeyTemplate()), newKeyset(t, aead.AES256GCMKeyTemplate())
	with := func(fingerprints, seals *keyset.Handle) *tink.Keyring {
		k, err := tink.New(fingerprints, seals)
		require.NoError(t, err)
		return k
	}
	store, p := newVault(t, with(fingerprints, seals))
	token := insert(t, p, "ada@example.com")[0]
	refused := func(p *process, want error) {
		t.Helper()
		require.ErrorIs(t, p.CheckKeys(t.Context()), want)
		_, err := p.Tokenize(t.Context(), "acme", "v1", emails("ada@example.com"))
		require.ErrorIs(t, err, want)
		_, err = p.Insert(t.Context(), "acme", "ops", "v1", emails("ada@example.com", "bob@example.com"))
		require.ErrorIs(t, err, want)
	}

	// Tink gives every key an ID of its own: keys of somebody else are versions that the
	// store does not know.
	refused(newProcess(t, store, with(newKeyset(t, prf.HMACSHA256PRFKeyTemplate()), seals)), keyring.ErrUnknownKey)
	// A key that was given the ID of another one.
	forged := withKeysOf(t, fingerprints, newKeyset(t, prf.HMACSHA256PRFKeyTemplate()))
	refused(newProcess(t, store, with(forged, seals)), keyring.ErrWrongKey)

	other := newProcess(t, store, with(fingerprints, newKeyset(t, aead.AES256GCMKeyTemplate())))
	_, err := reveal(t, other, token)
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
	forged = withKeysOf(t, seals, newKeyset(t, aead.AES256GCMKeyTemplate()))
	_, err = reveal(t, newProcess(t, store, with(fingerprints, forged)), token)
	require.ErrorIs(t, err, keyring.ErrCorrupt)
	require.ErrorContains(t, err, token)
	requireTokens(t, p, map[string]string{"ada@example.com": token})
}
