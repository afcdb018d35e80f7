package keyring

import (
	"context"
	"crypto/hmac"
	"fmt"
	"io"
	"log/slog"
)

// Keyring holds the keys of a vault service. Package localkeys has one on the standard
// library, module vault/tink one on Tink keysets. One that asks a key management service
// makes one request of each call: the batches of OpenBao's Transit engine are an example.
//
// There are keys of two purposes, which must be independent of each other: those that
// make fingerprints, by which a value is found, and those that seal values. Each has
// versions, which are numbers above 0. A version never stands for another key than it did
// before.
//
// If another key is loaded under a known version of those that make fingerprints, the
// service notices, and refuses it: [ErrWrongKey]. It cannot notice that of a key that
// seals: the values read as corrupt. A keyring that can be given the right key of one
// purpose together with a wrong one of the other should check that itself.
//
// # Batches
//
// Fingerprint, Seal and Open take many items at once: of one organization and one vault
// as a rule, of any during a rotation of keys, and of several scopes in any order. The
// same item may be there twice. Items have nothing to do with each other: each gets what
// it would get alone. A batch without items succeeds.
//
// The service splits what it has by Limits, and makes one call after the other. Without
// limits that is one call of each kind for a whole batch of the service, of
// Options.MaxItems items, and for a page of an export or a rotation, of 500.
//
// A value has up to Options.MaxValue bytes. The host of a keyring that takes less lowers
// MaxValue, so that callers learn it before.
//
// # Errors
//
// The error of a call says that it did nothing, and the error of an item that this item
// could not be had, while the others were. [ErrUnknownKey] and, as the error of an item
// of Open, [ErrCorrupt] mean what they say. Every other error means that the keyring is
// unavailable: then the service fails with mortise.ErrUnavailable, and has stored and
// shown nothing of the batch. The same happens if there are not as many results as
// items, or if one is neither a result nor an error, such as a fingerprint of zeros. An
// error of a network or a quota must never be ErrCorrupt, for then the service reports
// the token as damaged. Other errors of this package, of package vault and of package
// mortise, such as the mortise.ErrNotFound of a keyring that is built on another vault, do
// not reach the caller as such.
//
// The service does not repeat a call, except after [ErrUnknownKey] when Versions has
// changed meanwhile. A keyring may itself repeat what failed for a moment, or only the
// items that failed, until ctx ends: no call leaves anything behind.
//
// Every method is safe for concurrent use. A Keyring keeps nothing of its arguments and
// changes none but dst; results are the receiver's own. None of its errors holds a value
// or a key. It prints as [redacted] through every verb and in logs, and shows nothing as
// JSON.
type Keyring interface {
	// Versions says which versions are loaded. It is called before each operation, so it
	// should be quick, and not ask another machine each time. The caller does not change
	// the result.
	Versions(ctx context.Context) (Versions, error)

	// Limits returns the most that one call of Fingerprint, Seal or Open takes. vault.New
	// asks for it once; it must not change.
	Limits() Limits

	// Fingerprint writes a keyed digest of each item's value to dst. If dst is not as
	// long as items, that is an error. The same version, scope and value always give the
	// same fingerprint. Without the key nobody can compute one, confirm one, or tell
	// whether fingerprints of different scopes or versions are of one value.
	//
	// When the service first sees a version, it asks for the fingerprint of the empty
	// value in a scope without organization and vault, to tell whether it is the key that
	// the store knows.
	//
	// The error is [ErrUnknownKey] if the version is not loaded. Items have no errors of
	// their own, as a value cannot be to blame. A call that fails leaves dst as it was.
	Fingerprint(ctx context.Context, version int, items []FingerprintItem, dst []Fingerprint) error

	// Seal encrypts values so that each opens only with the same scope and token. It
	// returns a result for each item, in their order. It is randomized: nobody can tell
	// whether two ciphertexts are of one value, even within a batch. It uses
	// Versions.Seal, or what that has become meanwhile; results of one call may be of
	// different versions.
	//
	// A key management service may answer with text, such as base64. Decode that, and
	// encode it again to open it: one ciphertext has several texts, and Open must refuse
	// every change of what Seal returned.
	Seal(ctx context.Context, items []SealItem) ([]SealResult, error)

	// Open returns what was sealed: a result for each item, in their order. An item's
	// error is [ErrUnknownKey] if its version is not loaded, and [ErrCorrupt] if the
	// ciphertext was not sealed by this version for this scope and token.
	Open(ctx context.Context, items []OpenItem) ([]OpenResult, error)
}

// Limits are the most that one call of a [Keyring] takes, or of a tokenizer. Zero, or
// less, means no bound.
type Limits struct {
	Items int // how many items
	Bytes int // of the values or ciphertexts of all items together; a longer item goes alone
}

// Scope is where a deterministic value has one token: a column group of a vault, or a
// column that has no group.
type Scope struct {
	Organization string
	Vault        string
	Name         string // the group, or table.column
}

// FingerprintItem is a value whose fingerprint is asked for.
type FingerprintItem struct {
	Scope Scope
	Value Value
}

// SealItem is a value to seal, and what it is sealed for.
type SealItem struct {
	Scope Scope
	Token string
	Value Value
}

// SealResult is what became of a [SealItem].
type SealResult struct {
	Sealed Sealed // if Err is nil: of a version above 0, and never empty
	Err    error
}

// OpenItem is what was sealed, and what for.
type OpenItem struct {
	Scope  Scope
	Token  string
	Sealed Sealed
}

// OpenResult is what became of an [OpenItem].
type OpenResult struct {
	Value Value // if Err is nil; an empty value is NewValue(""), not the zero Value
	Err   error
}

// Versions says which versions of its keys a keyring has.
type Versions struct {
	Fingerprint int // the primary version of fingerprints: what lookups begin with

	// Lookup are further versions of fingerprints: written with each insertion, and asked
	// where the primary one finds nothing.
	Lookup []int

	// Seal is the version that seals. Which further ones are loaded shows when Open is
	// called.
	Seal int
}

// Fingerprint is a keyed digest of a value, of 256 bits. It cannot be confirmed without
// the key, but shows which rows of a scope are of one value, so it prints as [redacted].
// (Not by %p and %w, which are no verbs for it, nor in a field that is not exported.)
type Fingerprint [32]byte

// Equal compares in constant time.
func (f Fingerprint) Equal(other Fingerprint) bool { return hmac.Equal(f[:], other[:]) }

// Format and LogValue keep fingerprints out of messages and logs.
func (Fingerprint) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redactedText) }
func (Fingerprint) MarshalText() ([]byte, error) { return []byte(redactedText), nil }
func (Fingerprint) LogValue() slog.Value         { return slog.StringValue(redactedText) }

// MaxCiphertext bounds a ciphertext, in bytes: twice the longest value that vault.Options
// allows. A [Keyring] must not make a longer one, because stores do not return it.
const MaxCiphertext = 2 << 20

// Sealed is an encrypted value, and which version of the key opens it.
type Sealed struct {
	Version    int
	Ciphertext []byte
}
