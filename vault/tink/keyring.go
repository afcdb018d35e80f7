package tink

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Keyring implements [keyring.Keyring]. It prints as [redacted]. Make one with [New] or
// [Read].
type Keyring struct {
	keys atomic.Pointer[keys]
}

var _ keyring.Keyring = (*Keyring)(nil)

// New returns a keyring of two keysets: one of PRF keys, which make fingerprints of 32
// bytes, and one of AEAD keys, which seal values.
func New(fingerprints, seals *keyset.Handle) (*Keyring, error) {
	loaded, err := load(fingerprints, seals)
	if err != nil {
		return nil, err
	}
	k := new(Keyring)
	k.keys.Store(loaded)
	return k, nil
}

// Replace makes k use the keys of next from now on, so that a step of a rotation needs no
// new process. It is an error, and k stays as it is, if a version stands for another key
// in next than in k. An operation that began with a key which is gone or retired when it
// gets to use it ends with [keyring.ErrUnknownKey] or [keyring.ErrRetired]; repeated, it
// uses the new ones.
func (k *Keyring) Replace(next *Keyring) error {
	if k == nil || next == nil || k.keys.Load() == nil || next.keys.Load() == nil {
		return errors.New("tink: Replace needs two keyrings that New, Read or Generate made")
	}
	loaded := next.keys.Load()
	for {
		current := k.keys.Load()
		if err := current.agree(loaded); err != nil {
			return err
		}
		if k.keys.CompareAndSwap(current, loaded) {
			return nil
		}
	}
}

// Versions implements [keyring.Keyring].
func (k *Keyring) Versions(context.Context) (keyring.Versions, error) {
	keys := k.keys.Load()
	return keyring.Versions{
		Fingerprint: keys.fingerprints.primary, Lookup: keys.fingerprints.others, Seal: keys.seals.primary,
	}, nil
}

// The purposes of what the keys are applied to. They keep it apart from whatever else a
// host may do with the same keys.
const (
	purposeFingerprint = "mortise vault fingerprint v1"
	purposeSeal        = "mortise vault seal v1"
)

// Limits implements [keyring.Keyring]: there are none.
func (*Keyring) Limits() keyring.Limits { return keyring.Limits{} }

// Fingerprint implements [keyring.Keyring].
func (k *Keyring) Fingerprint(
	_ context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint,
) error {
	if len(dst) != len(items) {
		return errors.New("tink: as many fingerprints are needed as there are values")
	}
	key, ok := k.keys.Load().fingerprints.of[version]
	if !ok {
		return unknownKey(version)
	}
	var macs map[keyring.Scope]hash.Hash // of other scopes than the last one
	var mac hash.Hash
	var text []byte
	for i := range items {
		it := &items[i]
		if i == 0 || it.Scope != items[i-1].Scope {
			if mac != nil {
				if macs == nil {
					macs = make(map[keyring.Scope]hash.Hash)
				}
				macs[items[i-1].Scope] = mac
			}
			if mac = macs[it.Scope]; mac == nil {
				var err error
				if mac, err = scopeMAC(key, version, it.Scope); err != nil {
					return err
				}
			}
		}
		text = append(text[:0], it.Value.Reveal()...)
		mac.Reset()
		mac.Write(text)
		mac.Sum(dst[i][:0])
	}
	return nil
}

// scopeMAC returns what makes the fingerprints of a scope. It is HMAC by itself, because
// Tink's PRF prepares its key anew for each value, which takes five times as long as the
// value.
func scopeMAC(key prf.PRF, version int, s keyring.Scope) (hash.Hash, error) {
	scopeKey, err := key.ComputePRF(bind(purposeFingerprint, version, s.Organization, s.Vault, s.Name), scopeKeySize)
	if err != nil {
		return nil, fmt.Errorf("tink: derive a key for fingerprints: %w", err)
	}
	return hmac.New(sha256.New, scopeKey), nil
}

// Seal implements [keyring.Keyring].
func (k *Keyring) Seal(_ context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	results := make([]keyring.SealResult, len(items))
	seals := &k.keys.Load().seals
	version := seals.primary
	key := seals.of[version]
	var text []byte
	var p place
	for i := range items {
		it := &items[i]
		text = append(text[:0], it.Value.Reveal()...)
		ciphertext, err := key.Encrypt(text, p.bind(version, it.Scope, it.Token))
		if err != nil {
			results[i].Err = fmt.Errorf("tink: seal a value: %w", err)
			continue
		}
		results[i].Sealed = keyring.Sealed{Version: version, Ciphertext: ciphertext}
	}
	return results, nil
}

// Open implements [keyring.Keyring].
func (k *Keyring) Open(_ context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	results := make([]keyring.OpenResult, len(items))
	seals := &k.keys.Load().seals
	var p place
	for i := range items {
		it := &items[i]
		key, ok := seals.of[it.Sealed.Version]
		if !ok {
			results[i].Err = unknownKey(it.Sealed.Version)
			continue
		}
		plaintext, err := key.Decrypt(it.Sealed.Ciphertext, p.bind(it.Sealed.Version, it.Scope, it.Token))
		if err != nil {
			results[i].Err = keyring.ErrCorrupt
			continue
		}
		results[i].Value = keyring.NewValue(string(plaintext))
	}
	return results, nil
}

func unknownKey(version int) error {
	return fmt.Errorf("key version %d: %w", version, keyring.ErrUnknownKey)
}

// place is what a ciphertext is bound to, as associated data. It keeps its beginning,
// which the next value as a rule has again.
type place struct {
	version int
	scope   keyring.Scope
	bound   []byte // the beginning, and behind prefix bytes the token
	prefix  int
}

func (p *place) bind(version int, s keyring.Scope, token string) []byte {
	if p.bound == nil || p.version != version || p.scope != s {
		p.version, p.scope = version, s
		p.bound = bind(purposeSeal, version, s.Organization, s.Vault, s.Name)
		p.prefix = len(p.bound)
	}
	p.bound = appendText(p.bound[:p.prefix], token)
	return p.bound
}

// bind writes parts so that no two lists of them are the same bytes.
func bind(purpose string, version int, parts ...string) []byte {
	bound := appendText(make([]byte, 0, 256), purpose)
	bound = binary.BigEndian.AppendUint64(bound, uint64(version))
	for _, part := range parts {
		bound = appendText(bound, part)
	}
	return bound
}

// appendText appends a text and, before it, its length.
func appendText(dst []byte, text string) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(text)))
	return append(dst, text...)
}

const redacted = "[redacted]"

// Format, MarshalText and LogValue keep the keys out of messages, JSON and logs.
func (*Keyring) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (*Keyring) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (*Keyring) LogValue() slog.Value         { return slog.StringValue(redacted) }
