package localkeys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Key is a version of the keys: a number above 0 and the root key that it stands for, for
// ever.
type Key struct {
	Version int
	Root    Root
}

// Keyring implements [keyring.Keyring]. It prints as [redacted].
type Keyring struct {
	versions keyring.Versions
	roots    map[int]Root
	derived  *derived
}

var _ keyring.Keyring = (*Keyring)(nil)

// New returns a keyring. The primary version makes and seals what is new. The others are
// there to look up and open what they made, or, before they become primary, to make
// fingerprints beside the primary one: see Rotating the keys in package vault.
func New(primary Key, others ...Key) (*Keyring, error) {
	versions := keyring.Versions{Fingerprint: primary.Version, Seal: primary.Version}
	k := &Keyring{versions: versions, roots: make(map[int]Root), derived: new(derived)}
	for _, key := range append([]Key{primary}, others...) {
		switch {
		case key.Version <= 0:
			return nil, fmt.Errorf("localkeys: the version of a key must be above 0, not %d", key.Version)
		case key.Root.bytes == nil:
			return nil, fmt.Errorf("localkeys: version %d has no root key", key.Version)
		case k.roots[key.Version].bytes != nil:
			return nil, fmt.Errorf("localkeys: version %d is there twice", key.Version)
		}
		for version, other := range k.roots {
			if *other.bytes() == *key.Root.bytes() {
				return nil, fmt.Errorf("localkeys: versions %d and %d have the same root key", version, key.Version)
			}
		}
		k.roots[key.Version] = key.Root
	}
	for _, key := range others {
		k.versions.Lookup = append(k.versions.Lookup, key.Version)
	}
	return k, nil
}

// Versions implements [keyring.Keyring].
func (k *Keyring) Versions(context.Context) (keyring.Versions, error) { return k.versions, nil }

// Limits implements [keyring.Keyring]: there are none.
func (*Keyring) Limits() keyring.Limits { return keyring.Limits{} }

// Fingerprint implements [keyring.Keyring].
func (k *Keyring) Fingerprint(
	_ context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint,
) error {
	if len(dst) != len(items) {
		return errors.New("localkeys: as many fingerprints are needed as there are values")
	}
	for from := 0; from < len(items); {
		scope := items[from].Scope
		macs, err := k.macs(version, scope)
		if err != nil {
			return err
		}
		m := macs.get()
		for ; from < len(items) && items[from].Scope == scope; from++ {
			m.sum(items[from].Value.Reveal(), &dst[from])
		}
		macs.put(m)
	}
	return nil
}

// Seal implements [keyring.Keyring].
func (k *Keyring) Seal(_ context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	results := make([]keyring.SealResult, len(items))
	version := k.versions.Seal
	s := k.seals()
	defer s.done()
	for i := range items {
		it, r := &items[i], &results[i]
		if r.Err = s.choose(version, it.Scope); r.Err != nil {
			continue
		}
		r.Sealed = keyring.Sealed{Version: version, Ciphertext: s.seal(it.Token, it.Value.Reveal())}
	}
	return results, nil
}

// Open implements [keyring.Keyring].
func (k *Keyring) Open(_ context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	results := make([]keyring.OpenResult, len(items))
	s := k.seals()
	defer s.done()
	for i := range items {
		it, r := &items[i], &results[i]
		if r.Err = s.choose(it.Sealed.Version, it.Scope); r.Err != nil {
			continue
		}
		r.Value, r.Err = s.open(it.Token, it.Sealed.Ciphertext)
	}
	return results, nil
}

// Format, MarshalText and LogValue keep the keys out of messages, JSON and logs.
func (*Keyring) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (*Keyring) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (*Keyring) LogValue() slog.Value         { return slog.StringValue(redacted) }
