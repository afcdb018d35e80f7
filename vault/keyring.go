package vault

import (
	"context"
	"crypto/hmac"
	"fmt"
	"io"
	"log/slog"
	"slices"
)

// Keyring holds the keys of a vault service. Package localkeys has one on the standard library, module vault/tink one on Tink keysets.
//
// There are keys of two purposes, which must be independent of each other: those that make fingerprints, by which a value is found, and
// those that seal values. Each has versions, which are numbers above 0. A version never stands for another key than it did before.
//
// The service notices another key under a known number for those that make fingerprints. For those that seal it does not: their values read as
// corrupt. A keyring whose two kinds of keys can be mixed up should notice by itself.
//
// Every method is safe for concurrent use. A Keyring keeps nothing of its arguments, and no error of it holds a value or a key.
type Keyring interface {
	// Versions says which versions are loaded. It is asked before each operation, so it should be quick. The caller does not change it.
	Versions(ctx context.Context) (Versions, error)

	// Fingerprint writes a keyed digest of each value to dst, which is as long as values. The same version, scope and value always give the
	// same fingerprint. Without the key nobody can compute one, confirm one, or tell whether fingerprints of different scopes or versions
	// are of one value. It is [ErrUnknownKey] if the version is not loaded.
	Fingerprint(ctx context.Context, version int, s Scope, values []string, dst []Fingerprint) error

	// Seal encrypts a value so that it opens only with the same scope and token. It is randomized: nobody can tell whether two ciphertexts are
	// of one value. It uses Versions.Seal, or what that has become meanwhile.
	Seal(ctx context.Context, s Scope, token string, plaintext []byte) (Sealed, error)

	// Open returns what was sealed. It is [ErrUnknownKey] if the version is not loaded, and [ErrCorrupt] if the ciphertext was not sealed
	// by this version for this scope and token.
	Open(ctx context.Context, s Scope, token string, sealed Sealed) ([]byte, error)
}

// Versions says which versions of its keys a keyring has.
type Versions struct {
	Fingerprint int   // the primary version of fingerprints: what lookups begin with
	Lookup      []int // further versions of fingerprints: written with each insertion, and asked where the primary one finds nothing
	Seal        int   // the version that seals
}

// fingerprints returns the primary version and the others.
func (v *Versions) fingerprints() []int { return append([]int{v.Fingerprint}, v.Lookup...) }

func (v *Versions) equal(other *Versions) bool {
	return v.Fingerprint == other.Fingerprint && v.Seal == other.Seal && slices.Equal(v.Lookup, other.Lookup)
}

// Fingerprint is a keyed digest of a value, of 256 bits. It cannot be confirmed without the key, but shows which rows of a scope are of one
// value, so it prints as [redacted].
// (Not by %p and %w, which are no verbs for it, nor in a field that is not exported.)
type Fingerprint [32]byte

// Equal compares in constant time.
func (f Fingerprint) Equal(other Fingerprint) bool { return hmac.Equal(f[:], other[:]) }

// Format and LogValue keep fingerprints out of messages and logs.
func (Fingerprint) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redactedText) }
func (Fingerprint) MarshalText() ([]byte, error) { return []byte(redactedText), nil }
func (Fingerprint) LogValue() slog.Value         { return slog.StringValue(redactedText) }

// Sealed is an encrypted value, and which version of the key opens it.
type Sealed struct {
	Version    int
	Ciphertext []byte
}
