package vault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// safeKeyring is the host's keyring with its panics as errors.
type safeKeyring struct {
	keyring Keyring
	log     *slog.Logger
}

const keyringHook = "the keyring"

func (k *safeKeyring) Versions(ctx context.Context) (v Versions, err error) {
	defer hook.Recover(ctx, k.log, keyringHook, &err)
	v, err = k.keyring.Versions(ctx)
	hook.Probe(err)
	return v, err
}

func (k *safeKeyring) Fingerprint(ctx context.Context, version int, s Scope, values []string, dst []Fingerprint) (err error) {
	defer hook.Recover(ctx, k.log, keyringHook, &err)
	err = k.keyring.Fingerprint(ctx, version, s, values, dst)
	hook.Probe(err)
	return err
}

func (k *safeKeyring) Seal(ctx context.Context, s Scope, token string, plaintext []byte) (sealed Sealed, err error) {
	defer hook.Recover(ctx, k.log, keyringHook, &err)
	sealed, err = k.keyring.Seal(ctx, s, token, plaintext)
	hook.Probe(err)
	return sealed, err
}

func (k *safeKeyring) Open(ctx context.Context, s Scope, token string, sealed Sealed) (plaintext []byte, err error) {
	defer hook.Recover(ctx, k.log, keyringHook, &err)
	plaintext, err = k.keyring.Open(ctx, s, token, sealed)
	hook.Probe(err)
	return plaintext, err
}

// safeTokenizer is the host's tokenizer with its panics as errors.
type safeTokenizer struct {
	tokenizer Tokenizer
	log       *slog.Logger
}

const tokenizerHook = "the tokenizer"

func (t *safeTokenizer) CheckFormat(format string) (err error) {
	defer hook.Recover(context.Background(), t.log, tokenizerHook, &err)
	err = t.tokenizer.CheckFormat(format)
	hook.Probe(err)
	return err
}

func (t *safeTokenizer) Token(ctx context.Context, f Field, value string, attempt int) (token string, err error) {
	defer hook.Recover(ctx, t.log, tokenizerHook, &err)
	token, err = t.tokenizer.Token(ctx, f, value, attempt)
	hook.Probe(err)
	return token, err
}

// ask asks how much of a field's values may be shown.
func (s *Service) ask(ctx context.Context, allow Allow, f Field) (Redaction, error) {
	r, err := s.callAllow(ctx, allow, f)
	switch {
	case err != nil:
		return "", unavailable("ask how much may be shown", err)
	case r != "" && !r.known():
		return "", fmt.Errorf("%w: Allow returned what is no redaction", ErrInvalid)
	}
	return r, nil
}

func (s *Service) callAllow(ctx context.Context, allow Allow, f Field) (r Redaction, err error) {
	defer hook.Recover(ctx, s.opts.Logger, "Allow", &err)
	return allow(f), nil
}

// panicked reports whether an error is a panic of a hook.
func panicked(err error) bool {
	var p *hook.PanicError
	return errors.As(err, &p)
}
