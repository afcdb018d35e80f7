package vault_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// odd is a keyring and a tokenizer whose answers are changed.
type odd struct {
	keyring.Keyring
	format.Standard
	seals  func([]keyring.SealResult) ([]keyring.SealResult, error)
	opens  func([]keyring.OpenResult) ([]keyring.OpenResult, error)
	tokens func([]format.Result) ([]format.Result, error)
}

func (*odd) Limits() keyring.Limits { return keyring.Limits{} }

func changed[R any](change func([]R) ([]R, error), results []R, err error) ([]R, error) {
	if change == nil || err != nil {
		return results, err
	}
	return change(results)
}

func (o *odd) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	results, err := o.Keyring.Seal(ctx, items)
	return changed(o.seals, results, err)
}

func (o *odd) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	results, err := o.Keyring.Open(ctx, items)
	return changed(o.opens, results, err)
}

func (o *odd) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	results, err := o.Standard.Tokens(ctx, requests)
	return changed(o.tokens, results, err)
}

// answers are the ways in which what a hook returns is no answer.
func answers[R any](none R, failed func(error) R) map[string]func([]R) ([]R, error) {
	return map[string]func([]R) ([]R, error){
		"too few":    func(r []R) ([]R, error) { return r[1:], nil },
		"too many":   func(r []R) ([]R, error) { return append(r, r[0]), nil },
		"none":       func([]R) ([]R, error) { return nil, nil },
		"a zero one": func(r []R) ([]R, error) { r[1] = none; return r, nil },
		"an error":   func(r []R) ([]R, error) { r[1] = failed(errDown); return r, nil },
		"a call's error that means an item": func([]R) ([]R, error) {
			return nil, errors.Join(keyring.ErrCorrupt, format.ErrMismatch, format.ErrExhausted)
		},
	}
}

// What is no answer for each item is none for any: the keyring or the tokenizer is
// unavailable, nothing is stored or shown, and no token is called damaged.
func TestAnswersThatAreNone(t *testing.T) {
	ctx := t.Context()
	r := newRig(t, vault.Options{})
	names := of("persons", "name", "Ada", "Bob", "Cyd")
	tokens := insert(t, r.Service, names)
	try := func(name string, o *odd, do func(s *vault.Service) error) {
		t.Run(name, func(t *testing.T) {
			o.Keyring = newKeyring(t, 2, 1)
			s, err := vault.New(vault.Backend{Store: r.store}, o, &vault.Options{Tokenizer: o, Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
			require.NoError(t, err)
			err = do(s)
			require.ErrorIs(t, err, mortise.ErrUnavailable)
			for _, named := range []any{new(*vault.BatchError), new(*vault.TokenError)} {
				require.False(t, errors.As(err, named), "%v names items", err)
			}
			require.Equal(t, []string{"Ada", "Bob", "Cyd"}, reveal(t, r.Service, tokens...))
			usage, err := r.KeyUsage(ctx)
			require.NoError(t, err)
			require.Equal(t, 3, usage.Rows)
			require.Equal(t, 3, usage.Sealed[1])
		})
	}
	inserting := func(s *vault.Service) error {
		_, err := s.Insert(ctx, "acme", "ops", "v1", of("persons", "name", "Dan", "Eve"))
		return err
	}
	rewrapping := func(s *vault.Service) error { return s.Rewrap(ctx, nil) }
	backfilling := func(s *vault.Service) error { return s.Backfill(ctx, 2, nil) }
	showing := func(s *vault.Service) error {
		shown, err := s.Detokenize(ctx, "acme", "ops", "v1", asked(tokens...), everything)
		require.Empty(t, shown)
		return err
	}
	exporting := func(s *vault.Service) error {
		for e, err := range s.Export(ctx, "acme", "ops", "v1", everything) {
			require.Zero(t, e)
			return err
		}
		return nil
	}
	noToken := func(err error) format.Result { return format.Result{Token: "t", Err: err} }
	for name, change := range answers(format.Result{}, noToken) {
		try("Insert/tokens/"+name, &odd{tokens: change}, inserting)
	}
	noSeal := func(err error) keyring.SealResult { return keyring.SealResult{Err: err} }
	for name, change := range answers(keyring.SealResult{}, noSeal) {
		try("Insert/seals/"+name, &odd{seals: change}, inserting)
		try("Rewrap/seals/"+name, &odd{seals: change}, rewrapping)
	}
	notOpen := func(err error) keyring.OpenResult { return keyring.OpenResult{Err: err} }
	for name, change := range answers(keyring.OpenResult{}, notOpen) {
		try("Rewrap/opens/"+name, &odd{opens: change}, rewrapping)
		try("Backfill/opens/"+name, &odd{opens: change}, backfilling)
		try("Detokenize/opens/"+name, &odd{opens: change}, showing)
		try("Export/opens/"+name, &odd{opens: change}, exporting)
	}
	for name, sealed := range map[string]keyring.Sealed{
		"no ciphertext": {Version: 2}, "no version": {Ciphertext: []byte("x")},
		"a version below 0":   {Version: -1, Ciphertext: []byte("x")},
		"too long to be read": {Version: 2, Ciphertext: make([]byte, keyring.MaxCiphertext+1)},
	} {
		change := func(r []keyring.SealResult) ([]keyring.SealResult, error) { r[1].Sealed = sealed; return r, nil }
		try("Rewrap/"+name, &odd{seals: change}, rewrapping)
	}
}
