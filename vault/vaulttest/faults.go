package vaulttest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"reflect"

	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/internal/fault"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/vaulttest/internal/delegate"
)

// Faults makes the backends that it wraps fail as its hooks say, so that you can see what
// your own program does then. The zero value injects nothing. Set the hooks before the
// first call; they must be safe for concurrent use if the wrappers are used concurrently.
//
// An op is the interface and the method, as in "Vaults.PutVault", "Tokens.InsertTokens",
// "KeyRotation.Reseal", "Audit.AddAuditEvent" or "Keyring.Fingerprint". [Outage], [Nth]
// and [Sometimes] make hooks, and [On] bounds one to some ops. A hook may also panic,
// block or call other parts of the program: whatever can happen while a backend is being
// called.
//
// A wrapped store stays a [mortise.HostTx]. AfterCommit is not an op.
type Faults struct {
	// Before runs before the backend is called. If it returns an error, that is the
	// answer, and the backend is not called.
	Before func(op string) error

	// After runs when the backend has done what was asked without error. If it returns an
	// error, that is the answer: the call took effect and the caller does not know it, as
	// when a connection breaks before the reply.
	After func(op string) error
}

func (f *Faults) call(op string, do func() error) error {
	return fault.HooksAt(&f.Before, &f.After).Call(op, do)
}

func callFor[T any](f *Faults, op string, do func() (T, error)) (T, error) {
	return fault.CallFor(fault.HooksAt(&f.Before, &f.After), op, do)
}

// Store wraps a store. The ops are the methods of "Vaults", "Deletion", "Tokens",
// "Imports", "Keys", "KeyRotation" and "Audit".
func (f *Faults) Store(s vault.Store) vault.Store {
	op := fault.Ops(
		reflect.TypeFor[vault.Vaults](), reflect.TypeFor[vault.Deletion](), reflect.TypeFor[vault.Tokens](),
		reflect.TypeFor[vault.Imports](), reflect.TypeFor[vault.Keys](), reflect.TypeFor[vault.KeyRotation](),
		reflect.TypeFor[vault.Audit]())
	d := new(delegate.Backend)
	mutate.Stand(&d.On, s, func(method string, do func() error) error { return f.call(op(method), do) })
	return struct {
		fault.Wrapped
		vault.Store
	}{fault.Wrapped{Store: s}, d}
}

// Keyring wraps a keyring, as when a key management service is away. The ops are the
// methods of "Keyring" but for Limits, which cannot fail.
func (f *Faults) Keyring(k keyring.Keyring) keyring.Keyring { return &faultyKeyring{k, f} }

type faultyKeyring struct {
	inner  keyring.Keyring
	faults *Faults
}

func (k *faultyKeyring) Versions(ctx context.Context) (keyring.Versions, error) {
	return callFor(k.faults, "Keyring.Versions", func() (keyring.Versions, error) { return k.inner.Versions(ctx) })
}

func (k *faultyKeyring) Limits() keyring.Limits { return k.inner.Limits() }

func (k *faultyKeyring) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	return k.faults.call("Keyring.Fingerprint", func() error { return k.inner.Fingerprint(ctx, version, items, dst) })
}

func (k *faultyKeyring) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	return callFor(k.faults, "Keyring.Seal", func() ([]keyring.SealResult, error) { return k.inner.Seal(ctx, items) })
}

func (k *faultyKeyring) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	return callFor(k.faults, "Keyring.Open", func() ([]keyring.OpenResult, error) { return k.inner.Open(ctx, items) })
}

const redacted = "[redacted]"

// Format, MarshalText and LogValue keep the keys out of messages, JSON and logs, whatever
// the wrapped keyring does.
func (*faultyKeyring) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (*faultyKeyring) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (*faultyKeyring) LogValue() slog.Value         { return slog.StringValue(redacted) }
