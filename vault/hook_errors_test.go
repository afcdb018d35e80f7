package vault_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// speaking is a keyring and a tokenizer whose calls, or whose answers for one item, fail
// with an error.
type speaking struct {
	keyring.Keyring
	format.Standard
	method string
	err    error
	calls  int
}

func (s *speaking) says(method string) error {
	if s.method != method {
		return nil
	}
	s.calls++
	return s.err
}

func (*speaking) Limits() keyring.Limits { return keyring.Limits{} }

func (s *speaking) Versions(ctx context.Context) (keyring.Versions, error) {
	v, err := s.Keyring.Versions(ctx)
	return v, errors.Join(s.says("Versions"), err)
}

func (s *speaking) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	return errors.Join(s.says("Fingerprint"), s.Keyring.Fingerprint(ctx, version, items, dst))
}

func (s *speaking) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	results, err := s.Keyring.Seal(ctx, items)
	if err := s.says("Seal item"); err != nil {
		results[0] = keyring.SealResult{Err: err}
	}
	return results, errors.Join(s.says("Seal"), err)
}

func (s *speaking) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	results, err := s.Keyring.Open(ctx, items)
	if err := s.says("Open item"); err != nil {
		results[0] = keyring.OpenResult{Err: err}
	}
	return results, errors.Join(s.says("Open"), err)
}

func (s *speaking) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	results, err := s.Standard.Tokens(ctx, requests)
	if err := s.says("Tokens item"); err != nil {
		results[0] = format.Result{Err: err}
	}
	return results, errors.Join(s.says("Tokens"), err)
}

func (s *speaking) CheckTokens(ctx context.Context, pairs []format.Pair) ([]error, error) {
	errs, err := s.Standard.CheckTokens(ctx, pairs)
	if err := s.says("CheckTokens item"); err != nil {
		errs[0] = err
	}
	return errs, errors.Join(s.says("CheckTokens"), err)
}

// own are the errors of package vault that are an error, but for ErrUnavailable.
func own(err error) []string {
	var is []string
	for _, e := range []error{
		mortise.ErrNotFound, mortise.ErrExists, vault.ErrTableNotFound, vault.ErrColumnNotFound, vault.ErrGroupNotFound,
		vault.ErrNotDeterministic, vault.ErrNotTokenized, vault.ErrValueNotFound, vault.ErrTokenNotFound, format.ErrMismatch,
		vault.ErrInvalid, vault.ErrTooMuch, vault.ErrForbidden, vault.ErrScopeInUse,
		vault.ErrConflict, vault.ErrTokenConflict, format.ErrExhausted, vault.ErrFull, keyring.ErrCorrupt, keyring.ErrUnknownKey,
		keyring.ErrWrongKey, keyring.ErrRetired, keyring.ErrInUse,
	} {
		if errors.Is(err, e) {
			is = append(is, e.Error())
		}
	}
	return is
}

// A keyring or a tokenizer that is built on another vault service says what that says of
// its own vaults, tokens and items. Here it means that the hook is unavailable, and but
// for that what the contract gives a meaning.
func TestErrorsOfHooksThatMeanSomethingElse(t *testing.T) {
	ctx := t.Context()
	foreign := errors.Join(errDown, mortise.ErrNotFound, mortise.ErrExists, vault.ErrTokenNotFound, vault.ErrValueNotFound, vault.ErrForbidden,
		vault.ErrInvalid, vault.ErrTooMuch, vault.ErrTokenConflict, vault.ErrScopeInUse, vault.ErrConflict,
		vault.ErrFull, keyring.ErrWrongKey, keyring.ErrRetired, keyring.ErrInUse, vault.ErrTableNotFound, mortise.ErrUnavailable,
		&vault.BatchError{Items: []*vault.ItemError{{Index: 7, Err: vault.ErrInvalid}}}, &vault.TokenError{Token: "theirs", Err: errDown},
		&vault.TakenError{Rows: []int{99}}, mortise.Problem{Path: mortise.Path{{Field: "theirs"}}}, &mortise.ValidationError{})
	for method, means := range map[string]error{
		"Versions": keyring.ErrUnknownKey, "Fingerprint": keyring.ErrUnknownKey, "Seal": keyring.ErrUnknownKey, "Open": keyring.ErrUnknownKey,
		"Seal item": keyring.ErrUnknownKey, "Open item": keyring.ErrUnknownKey, "Tokens": nil, "CheckTokens": nil,
		"Tokens item": format.ErrMismatch, "CheckTokens item": format.ErrMismatch,
	} {
		r := newRig(t, vault.Options{})
		token := insert(t, r.Service, of("persons", "name", "Ada"))[0]
		do := func(err error) error {
			hook := &speaking{Keyring: newKeyring(t, 1), method: method, err: err}
			s, err := vault.New(vault.Backend{Store: r.store}, hook, &vault.Options{Tokenizer: hook, Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
			require.NoError(t, err)
			switch method {
			case "Open", "Open item":
				_, err = s.Detokenize(ctx, "acme", "ops", "v1", asked(token), everything)
			case "CheckTokens", "CheckTokens item":
				err = imports(t, s, withToken("persons", "name", "Eve", uuidA))
			default:
				_, err = s.Insert(ctx, "acme", "ops", "v1", of("persons", "name", "Eve"))
			}
			require.Equal(t, 1, hook.calls, "%s is asked again", method)
			require.ErrorIs(t, err, errDown, method)
			return err
		}
		err := do(fmt.Errorf("theirs: %w", foreign))
		require.ErrorIs(t, err, mortise.ErrUnavailable, method)
		require.Empty(t, own(err), method)
		for _, as := range []any{
			new(vault.Reason), new(*vault.BatchError), new(*vault.ItemError), new(*vault.TokenError), new(*vault.TakenError), new(*mortise.ValidationError), new(mortise.Problem),
		} {
			require.False(t, errors.As(err, as), "%s: %T", method, as)
		}
		if means == nil {
			continue
		}
		err = do(errors.Join(foreign, means, keyring.ErrCorrupt))
		require.Equal(t, []string{means.Error()}, own(err), method)
		require.NotErrorIs(t, err, mortise.ErrUnavailable, method)
	}
}

// skipping is a keyring that leaves out the fingerprints from one on, of some version.
type skipping struct {
	keyring.Keyring
	version, from int
}

func (k *skipping) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	n := len(items)
	if version == k.version && items[0].Scope.Organization != "" {
		n = min(n, k.from)
	}
	return k.Keyring.Fingerprint(ctx, version, items[:n], dst[:n])
}

// Values whose fingerprints a keyring leaves out are none that are the same.
func TestFingerprintsThatAreLeftOut(t *testing.T) {
	ctx := t.Context()
	for _, k := range []*skipping{{newKeyring(t, 1, 2), 1, 0}, {newKeyring(t, 1, 2), 1, 1}, {newKeyring(t, 1, 2), 2, 1}, {newKeyring(t, 2, 1), 1, 1}} {
		r := newRig(t, vault.Options{})
		insert(t, r.Service, of("persons", "name", "Ada", "Bob", "Cyd"))
		s, err := vault.New(vault.Backend{Store: r.store}, k, nil)
		require.NoError(t, err)
		_, inserted := s.Insert(ctx, "acme", "ops", "v1", of("persons", "name", "Eve", "Fay", "Gil"))
		imported := imports(t, s, withToken("persons", "name", "Eve", uuidA), withToken("persons", "name", "Fay", uuidB))
		filled := s.Backfill(ctx, k.version, nil)
		errs := []error{inserted, imported}
		if k.version == 2 {
			errs = append(errs, filled)
		}
		for _, err := range errs {
			require.ErrorIs(t, err, mortise.ErrUnavailable)
		}
		usage, err := r.KeyUsage(ctx)
		require.NoError(t, err)
		require.Equal(t, 3, usage.Rows)
		require.Zero(t, usage.Fingerprints[2])
	}
}

// telling is a tokenizer that makes tokens of values.
type telling struct {
	format.Standard
	token func(value string) string
}

func (t *telling) Tokens(_ context.Context, requests []format.Request) ([]format.Result, error) {
	results := make([]format.Result, len(requests))
	for i := range requests {
		results[i].Token = t.token(requests[i].Value.Reveal())
	}
	return results, nil
}

func (*telling) CheckTokens(_ context.Context, pairs []format.Pair) ([]error, error) {
	return make([]error, len(pairs)), nil
}

// A tokenizer that gives a value away is refused, and so is an import that does.
func TestTokensThatAreTheirValues(t *testing.T) {
	for value, token := range map[string]string{"Ada": "Ada", "ADA Ärzte": "ada ärzte", " Ada\r\n": "Ada", "Bob": " bob"} {
		r := newRig(t, vault.Options{Tokenizer: &telling{token: func(string) string { return token }}})
		_, err := r.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", value))
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		require.NotContains(t, err.Error(), token)
		err = imports(t, r.Service, withToken("persons", "name", "Eve", uuidA), withToken("persons", "name", value, token))
		require.Equal(t, []int{1}, indexes(t, err, format.ErrMismatch))
		require.NotContains(t, err.Error(), token)
		usage, err := r.KeyUsage(t.Context())
		require.NoError(t, err)
		require.Zero(t, usage.Rows)
	}
}

// What a tokenizer says would fit reaches the caller, and nobody's else does.
func TestFormatErrorsOfHooks(t *testing.T) {
	says := &format.Error{Message: "a name is needed"}
	require.EqualError(t, says, "vault: the value does not fit the column's format: a name is needed")
	do := func(method string, err error) error {
		r := newRig(t, vault.Options{})
		hook := &speaking{Keyring: newKeyring(t, 1), method: method, err: err}
		s, err := vault.New(vault.Backend{Store: r.store}, hook, &vault.Options{Tokenizer: hook, Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
		require.NoError(t, err)
		if method == "CheckTokens item" {
			return imports(t, s, withToken("persons", "name", "Eve", uuidA))
		}
		_, err = s.Insert(t.Context(), "acme", "ops", "v1", of("persons", "name", "Eve"))
		return err
	}
	for _, method := range []string{"Tokens item", "CheckTokens item"} {
		err := do(method, fmt.Errorf("theirs: %w", says))
		require.Equal(t, []int{0}, indexes(t, err, format.ErrMismatch))
		var got *format.Error
		require.ErrorAs(t, err, &got)
		require.Same(t, says, got)
	}
	for _, err := range []error{do("Seal item", errors.Join(says, keyring.ErrUnknownKey)), do("Tokens", says), do("Fingerprint", says)} {
		require.NotErrorIs(t, err, format.ErrMismatch)
		var got *format.Error
		require.NotErrorAs(t, err, &got)
	}
}
