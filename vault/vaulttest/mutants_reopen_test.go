package vaulttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// ctxMutants go on when they should not, or say that something is not there when they
// cannot know, or say too much.
var ctxMutants = []broken{
	{name: "ignores the context", breaks: "store/ended-context", mutate: arg(func(ctx *context.Context) { *ctx = bg }, "KeyUsage")},
	{name: "finds nothing when the context has ended", breaks: "store/ended-context", mutate: errs(
		func(error) error { return vault.ErrConflict }, "FindTokens")},
	{name: "finds nothing while it is broken", breaks: "store/failure", mutate: func(m *mutant) {
		m.failure = errors.Join(errBroken, mortise.ErrNotFound)
	}},
	{name: "takes tokens while it is broken", breaks: "store/failure", mutate: func(m *mutant) {
		m.failure = &vault.TakenError{}
	}},
	{name: "shows what it refuses", breaks: "store/errors-hold-nothing", mutate: telling(
		func(r *vault.Row) string { return fmt.Sprintf("%x", r.Sealed.Ciphertext) })},
	{name: "shows fingerprints that it refuses", breaks: "store/errors-hold-nothing", mutate: telling(
		func(r *vault.Row) string { return fmt.Sprint(r.Fingerprints[0].Fingerprint[:]) })},
}

// telling makes a mutant whose InsertTokens says what it has refused.
func telling(text func(*vault.Row) string) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		if c.Go(); *c.Err() != nil {
			*c.Err() = fmt.Errorf("insert %s: %w", text(&rowsIn(c)[0]), *c.Err())
		}
	}, "InsertTokens")
}

// empty opens a new backend in the place of the one before.
func empty(t *testing.T, _ vault.Backend) vault.Backend { return newMutant(t).backend() }

// losing opens a backend that has lost something of the one before.
func losing(lose func(*testing.T, vault.Store)) func(*testing.T, vault.Backend) vault.Backend {
	return func(t *testing.T, b vault.Backend) vault.Backend {
		lose(t, b.Store)
		return b
	}
}

// reopened makes a mistake once the backend is opened again.
func reopened(mutation func(*mutant)) func(*testing.T, vault.Backend) vault.Backend {
	return losing(func(_ *testing.T, s vault.Store) { mutation(s.(*mutant)) })
}

// reopenMutants lose something when they are opened again.
var reopenMutants = []broken{
	{name: "loses everything", breaks: "store/durable store/durable-absence store/durable-constraints", reopen: empty,
		mutate: func(*mutant) {}},
	{name: "loses the audit trail", breaks: "store/durable", mutate: func(*mutant) {}, reopen: losing(func(t *testing.T, s vault.Store) {
		_, _, err := s.PruneAudit(t.Context(), time.Now(), 1000)
		require.NoError(t, err)
	})},
	{name: "loses a fingerprint", breaks: "store/durable", mutate: func(*mutant) {}, reopen: reopened(in(func(l *vault.Lookup) {
		if l.Version == 5 {
			l.Scope = "nowhere"
		}
	}))},
	{name: "forgets which tokens were deleted", breaks: "store/durable-absence", mutate: func(*mutant) {}, reopen: reopened(
		whenTaken(func(_ *mutant, c *mutate.Call, _ *vault.TakenError) {
			*mutate.Get[[]string](c.Out), *c.Err() = []string{rowsIn(c)[0].Token}, nil
		}, "InsertTokens"))},
	{name: "forgets what is required", breaks: "store/durable store/durable-constraints", mutate: func(*mutant) {}, reopen: reopened(both(
		swallowing(keyring.ErrUnknownKey),
		out(func(k *keyring.Key) { k.Required = false }, "Keys"),
	))},
}
