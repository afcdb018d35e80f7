package vault_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// hooks are a keyring and a tokenizer whose method of a name panics with what it was
// given.
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

func (h *hooks) Versions(ctx context.Context) (keyring.Versions, error) {
	h.call("Versions")
	return h.Keyring.Versions(ctx)
}

func (h *hooks) Limits() keyring.Limits {
	h.call("Limits")
	return keyring.Limits{}
}

func (h *hooks) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	h.call("Fingerprint")
	return h.Keyring.Fingerprint(ctx, version, items, dst)
}

func (h *hooks) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	h.call("Seal")
	return h.Keyring.Seal(ctx, items)
}

func (h *hooks) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	h.call("Open")
	return h.Keyring.Open(ctx, items)
}

func (h *hooks) CheckFormat(format string) error {
	h.call("CheckFormat")
	return h.Standard.CheckFormat(format)
}

func (h *hooks) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	h.call("Tokens")
	return h.Standard.Tokens(ctx, requests)
}

func (h *hooks) CheckTokens(ctx context.Context, pairs []format.Pair) ([]error, error) {
	h.call("CheckTokens")
	return h.Standard.CheckTokens(ctx, pairs)
}

func (h *hooks) Observe(context.Context, mortise.Observation) { h.call("Observe") }

func (h *hooks) allow(vault.Field) vault.Redaction {
	h.call("allow")
	return vault.PlainText
}

// A panic of a hook is logged with its stack. If the answer is needed, it is that of a
// dependency that is away; an observer's changes nothing. What the hook was given is in
// no log and in no error, and the service works on.
func TestPanicsOfHooks(t *testing.T) {
	calls := map[string]func(s *vault.Service, token string, a vault.RedactionPolicy) error{
		"ChangeSchema": func(s *vault.Service, _ string, _ vault.RedactionPolicy) error {
			_, err := s.ChangeSchema(t.Context(), "acme", "ops", "v1", func(*vault.Schema) error { return nil })
			return err
		},
		"Insert": func(s *vault.Service, _ string, _ vault.RedactionPolicy) error {
			_, err := s.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", secretValue, "Grace"))
			return err
		},
		"Import": func(s *vault.Service, token string, _ vault.RedactionPolicy) error {
			return imports(t, s, withToken("persons", "name", "Alan", token), withToken("persons", "name", "Mary", uuidA))
		},
		"Tokenize": func(s *vault.Service, _ string, _ vault.RedactionPolicy) error {
			_, err := s.Tokenize(t.Context(), "acme", "v1", of("persons", "name", "Alan"))
			return err
		},
		"Detokenize": func(s *vault.Service, token string, a vault.RedactionPolicy) error {
			_, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(token), a)
			return err
		},
		"Ping": func(s *vault.Service, _ string, _ vault.RedactionPolicy) error { return s.Ping(t.Context()) },
	}
	for broken, fails := range map[string][]string{
		"Versions":    {"Insert", "Import", "Tokenize", "Detokenize", "Ping"},
		"Fingerprint": {"Insert", "Import", "Tokenize"},
		"Seal":        {"Insert", "Import"},
		"Tokens":      {"Insert"},
		"CheckTokens": {"Import"},
		"Open":        {"Import", "Detokenize"},
		"allow":       {"Detokenize"},
		"CheckFormat": {"ChangeSchema"},
		"Observe":     {},
	} {
		t.Run(broken, func(t *testing.T) {
			for name, call := range calls {
				var logged bytes.Buffer
				db, err := memory.Open(t.Context(), nil)
				require.NoError(t, err)
				h := &hooks{Keyring: newKeyring(t, 1)}
				s, err := vault.New(db.Vault(), h, &vault.Options{Tokenizer: h, Env: mortise.Env{Observer: h.Observe, Logger: slog.New(slog.NewTextHandler(&logged, nil))}})
				require.NoError(t, err)
				_, err = s.CreateVault(t.Context(), "acme", "ops", "v1", schema)
				require.NoError(t, err)
				token := insert(t, s, of("persons", "name", "Alan"))[0]

				h.broken = broken
				err = call(s, token, h.allow)
				if slices.Contains(fails, name) {
					require.ErrorIs(t, err, mortise.ErrUnavailable, name)
					require.NotContains(t, err.Error(), secretValue)
				} else {
					require.NoError(t, err, name)
				}
				if slices.Contains(fails, name) || broken == "Observe" && name != "Ping" {
					require.Contains(t, logged.String(), "level=ERROR", name)
					require.Contains(t, logged.String(), "hooks).call", "the stack of "+name)
				}
				require.NotContains(t, logged.String(), secretValue)
				h.broken = ""
				require.NoError(t, call(s, token, h.allow), name)
			}
		})
	}
}

// Without the limits there is no service.
func TestPanicOfLimits(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	h := &hooks{Keyring: newKeyring(t, 1), broken: "Limits"}
	for _, c := range []struct {
		keys      keyring.Keyring
		tokenizer format.Tokenizer
		hook      string
	}{{h, nil, "the keyring"}, {newKeyring(t, 1), h, "the tokenizer"}} {
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, nil))
		s, err := vault.New(db.Vault(), c.keys, &vault.Options{Tokenizer: c.tokenizer, Env: mortise.Env{Logger: log}})
		require.ErrorContains(t, err, c.hook)
		require.Nil(t, s)
		require.NotContains(t, err.Error()+logged.String(), secretValue)
		require.Contains(t, logged.String(), "hooks).call")
	}
}
