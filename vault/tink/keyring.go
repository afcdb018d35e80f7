package tink

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/seed-6363c74e/mortise/vault"
)

// Keyring implements [vault.Keyring]. It prints as [redacted]. Make one with [New] or [Read].
type Keyring struct {
	keys atomic.Pointer[keys]
}

var _ vault.Keyring = (*Keyring)(nil)

// New returns a keyring of two keysets: one of PRF keys, which make fingerprints of 32 bytes, and one of AEAD keys, which seal values.
func New(fingerprints, seals *keyset.Handle) (*Keyring, error) {
	loaded, err := load(fingerprints, seals)
	if err != nil {
		return nil, err
	}
	k := new(Keyring)
	k.keys.Store(loaded)
	return k, nil
}

// Replace makes k use the keys of next from now on, so that a step of a rotation needs no new process. It is an error, and k stays as it is,
// if a version stands for another key in next than in k. An operation that began with a key which is gone or retired when it gets to use it
// ends with [vault.ErrUnknownKey] or [vault.ErrKeyRetired]; repeated, it uses the new ones.
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

// Versions implements [vault.Keyring].
func (k *Keyring) Versions(context.Context) (vault.Versions, error) {
	keys := k.keys.Load()
	return vault.Versions{Fingerprint: keys.fingerprints.primary, Lookup: keys.fingerprints.others, Seal: keys.seals.primary}, nil
}

// The purposes of what the keys are applied to. They keep it apart from whatever else a host may do with the same keys.
const (
	purposeFingerprint = "mortise vault fingerprint v1"
	purposeSeal        = "mortise vault seal v1"
)

// Fingerprint implements [vault.Keyring].
func (k *Keyring) Fingerprint(_ context.Context, version int, s vault.Scope, values []string, dst []vault.Fingerprint) error {
	if len(dst) != len(values) {
		return errors.New("tink: as many fingerprints are needed as there are values")
	}
	key, ok := k.keys.Load().fingerprints.of[version]
	if !ok {
		return unknownKey(version)
	}
	scopeKey, err := key.ComputePRF(bind(purposeFingerprint, version, s.Organization, s.Vault, s.Name), scopeKeySize)
	if err != nil {
		return fmt.Errorf("tink: derive a key for fingerprints: %w", err)
	}
	// HMAC by itself, because Tink's PRF prepares its key anew for each value, which takes five times as long as the value.
	mac := hmac.New(sha256.New, scopeKey)
	var text []byte
	for i, value := range values {
		text = append(text[:0], value...)
		mac.Reset()
		mac.Write(text)
		mac.Sum(dst[i][:0])
	}
	return nil
}

// Seal implements [vault.Keyring].
func (k *Keyring) Seal(_ context.Context, s vault.Scope, token string, plaintext []byte) (vault.Sealed, error) {
	seals := &k.keys.Load().seals
	version := seals.primary
	ciphertext, err := seals.of[version].Encrypt(plaintext, associatedData(version, s, token))
	if err != nil {
		return vault.Sealed{}, fmt.Errorf("tink: seal a value: %w", err)
	}
	return vault.Sealed{Version: version, Ciphertext: ciphertext}, nil
}

// Open implements [vault.Keyring].
func (k *Keyring) Open(_ context.Context, s vault.Scope, token string, sealed vault.Sealed) ([]byte, error) {
	key, ok := k.keys.Load().seals.of[sealed.Version]
	if !ok {
		return nil, unknownKey(sealed.Version)
	}
	plaintext, err := key.Decrypt(sealed.Ciphertext, associatedData(sealed.Version, s, token))
	if err != nil {
		return nil, vault.ErrCorrupt
	}
	return plaintext, nil
}

func unknownKey(version int) error {
	return fmt.Errorf("key version %d: %w", version, vault.ErrUnknownKey)
}

// associatedData binds a ciphertext to its place.
func associatedData(version int, s vault.Scope, token string) []byte {
	return bind(purposeSeal, version, s.Organization, s.Vault, s.Name, token)
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
