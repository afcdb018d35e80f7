package vault_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// hooks are what a host plugs in. The method that is named by broken panics with what it
// was given.
type hooks struct {
	keyring.Keyring
	format.Standard
	broken string
}

const secretValue = "Ada Lovelace"

func (h *hooks) call(name string) {
	if h.broken == name {
		panic("cannot do " + secretValue)
	}
}

func (*hooks) Limits() keyring.Limits { return keyring.Limits{} }

func (h *hooks) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	h.call("Seal")
	return h.Keyring.Seal(ctx, items)
}

func (h *hooks) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	h.call("Open")
	return h.Keyring.Open(ctx, items)
}

func (h *hooks) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	h.call("Tokens")
	return h.Standard.Tokens(ctx, requests)
}

func (h *hooks) Observe(context.Context, mortise.Observation) { h.call("Observe") }

func (h *hooks) allow(vault.Field) vault.Redaction {
	h.call("allow")
	return vault.PlainText
}

// A panic of a keyring, a tokenizer or a RedactionPolicy goes on to the caller, also out of
// the goroutine of a Rewrap, and the service works on. A panic of an observer changes
// nothing, and is logged with its stack and nothing of what the observer was given.
func TestPanicsOfHooks(t *testing.T) {
	for _, broken := range []string{"Seal", "Open", "Tokens", "allow", "Rewrap", "Observe"} {
		t.Run(broken, func(t *testing.T) {
			var logged bytes.Buffer
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			h := &hooks{Keyring: newKeyring(t, 1, 2)}
			s, err := vault.New(db.Vault(), h, &vault.Options{Tokenizer: h, Env: mortise.Env{Observer: h.Observe, Logger: slog.New(slog.NewTextHandler(&logged, nil))}})
			require.NoError(t, err)
			_, err = s.CreateVault(t.Context(), "acme", "ops", "v1", schema)
			require.NoError(t, err)
			token := insert(t, s, of("persons", "name", "Alan"))[0]
			call := func() error {
				_, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(token), h.allow)
				return err
			}
			switch broken {
			case "Seal", "Tokens", "Observe":
				call = func() error {
					_, err := s.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", secretValue))
					return err
				}
			case "Rewrap":
				broken, h.Keyring = "Open", newKeyring(t, 2, 1)
				call = func() error { return s.Rewrap(t.Context(), nil) }
			}
			h.broken = broken
			if broken == "Observe" {
				require.NoError(t, call())
				require.Contains(t, logged.String(), "hooks).call", "its stack")
				require.NotContains(t, logged.String(), secretValue)
				return
			}
			require.PanicsWithValue(t, "cannot do "+secretValue, func() { _ = call() })
			h.broken = ""
			require.NoError(t, call())
		})
	}
}
