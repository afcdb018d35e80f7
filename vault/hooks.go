package vault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// safeKeyring is the host's keyring for batches of any size: it splits them, has panics
// as errors, and answers for every item or not at all.
type safeKeyring struct {
	keyring Keyring
	limits  BatchLimits
	log     *slog.Logger
}

const keyringHook = "the keyring"

func newSafeKeyring(keyring Keyring, log *slog.Logger) (k *safeKeyring, err error) {
	defer hook.Recover(context.Background(), log, keyringHook, &err)
	return &safeKeyring{keyring, keyring.Limits(), log}, nil
}

func (k *safeKeyring) Versions(ctx context.Context) (v Versions, err error) {
	defer hook.Recover(ctx, k.log, keyringHook, &err)
	v, err = k.keyring.Versions(ctx)
	return v, fromHook(err, ErrUnknownKey)
}

// Fingerprint writes the fingerprints of items to dst.
func (k *safeKeyring) Fingerprint(ctx context.Context, version int, items []FingerprintItem, dst []Fingerprint) (err error) {
	defer hook.Recover(ctx, k.log, keyringHook, &err)
	for from := 0; from < len(items); {
		to := partEnd(k.limits, items, from, (*FingerprintItem).size)
		part := dst[from:to]
		clear(part) // dst may hold the fingerprints of another version
		if err := k.keyring.Fingerprint(ctx, version, items[from:to], part); err != nil {
			return fromHook(err, ErrUnknownKey)
		}
		if slices.Contains(part, Fingerprint{}) {
			return errNoAnswer
		}
		from = to
	}
	return nil
}

// Seal seals all items. It is an error if one of them could not be sealed.
func (k *safeKeyring) Seal(ctx context.Context, items []SealItem) (results []SealResult, err error) {
	defer hook.Recover(ctx, k.log, keyringHook, &err)
	call := func(part []SealItem) ([]SealResult, error) {
		results, err := k.keyring.Seal(ctx, part)
		return results, fromHook(err, ErrUnknownKey)
	}
	if results, err = inParts(keyringHook, k.limits, items, (*SealItem).size, call); err != nil {
		return nil, err
	}
	for i := range results {
		switch r := &results[i]; {
		case r.Err != nil:
			return nil, fromHook(r.Err, ErrUnknownKey)
		case r.Sealed.Version <= 0 || len(r.Sealed.Ciphertext) == 0:
			return nil, errNoAnswer // what would be stored could never be opened
		}
	}
	return results, nil
}

// Open opens items. The error of one is ErrCorrupt or ErrUnknownKey; after any other, all
// have failed.
func (k *safeKeyring) Open(ctx context.Context, items []OpenItem) (results []OpenResult, err error) {
	defer hook.Recover(ctx, k.log, keyringHook, &err)
	call := func(part []OpenItem) ([]OpenResult, error) {
		results, err := k.keyring.Open(ctx, part)
		return results, fromHook(err, ErrUnknownKey)
	}
	if results, err = inParts(keyringHook, k.limits, items, (*OpenItem).size, call); err != nil {
		return nil, err
	}
	for i := range results {
		switch r := &results[i]; {
		case r.Err != nil:
			// Of one that is both: a key can be loaded, and what is corrupt is thrown
			// away.
			if r.Err = fromHook(r.Err, ErrUnknownKey, ErrCorrupt); !isItems(r.Err) {
				return nil, r.Err
			}
		case r.Value.IsZero():
			// Else it would be taken for an empty value, and stored as one by a rotation.
			return nil, errNoAnswer
		}
	}
	return results, nil
}

// safeTokenizer is the host's tokenizer, in the same way.
type safeTokenizer struct {
	tokenizer Tokenizer
	limits    BatchLimits
	log       *slog.Logger
}

const tokenizerHook = "the tokenizer"

func newSafeTokenizer(tokenizer Tokenizer, log *slog.Logger) (t *safeTokenizer, err error) {
	defer hook.Recover(context.Background(), log, tokenizerHook, &err)
	return &safeTokenizer{tokenizer, tokenizer.Limits(), log}, nil
}

func (t *safeTokenizer) CheckFormat(format string) (err error) {
	defer hook.Recover(context.Background(), t.log, tokenizerHook, &err)
	err = t.tokenizer.CheckFormat(format)
	hook.Probe(err)
	return err
}

// Tokens makes tokens. The error of a request is ErrFormat or ErrExhausted; after any
// other, all have failed.
func (t *safeTokenizer) Tokens(ctx context.Context, requests []TokenRequest) (results []TokenResult, err error) {
	defer hook.Recover(ctx, t.log, tokenizerHook, &err)
	call := func(part []TokenRequest) ([]TokenResult, error) {
		results, err := t.tokenizer.Tokens(ctx, part)
		return results, fromHook(err)
	}
	if results, err = inParts(tokenizerHook, t.limits, requests, (*TokenRequest).size, call); err != nil {
		return nil, err
	}
	for i := range results {
		switch r := &results[i]; {
		case r.Err != nil:
			if r.Err = fromHook(r.Err, ErrFormat, ErrExhausted); !isItems(r.Err) {
				return nil, r.Err
			}
		case name.Problem(r.Token) != "":
			return nil, fmt.Errorf("%w: the tokenizer made a token that is none: it %s", ErrUnavailable,
				name.Problem(r.Token))
		case isValue(r.Token, requests[i].Value):
			return nil, fmt.Errorf("%w: the tokenizer made a token that is its value", ErrUnavailable)
		}
	}
	return results, nil
}

// CheckTokens checks pairs. The error of one is ErrFormat; after any other, all have
// failed. What can be the token of no value is told by itself: no tokenizer has to know.
func (t *safeTokenizer) CheckTokens(ctx context.Context, pairs []TokenPair) (errs []error, err error) {
	defer hook.Recover(ctx, t.log, tokenizerHook, &err)
	call := func(part []TokenPair) ([]error, error) {
		errs, err := t.tokenizer.CheckTokens(ctx, part)
		return errs, fromHook(err)
	}
	if errs, err = inParts(tokenizerHook, t.limits, pairs, (*TokenPair).size, call); err != nil {
		return nil, err
	}
	for i := range errs {
		if errs[i] == nil {
			errs[i] = pairs[i].check()
		} else if errs[i] = fromHook(errs[i], ErrFormat); !isItems(errs[i]) {
			return nil, errs[i]
		}
	}
	return errs, nil
}

// ask asks how much of a field's values may be shown.
func (s *Service) ask(ctx context.Context, allow RedactionPolicy, f Field) (Redaction, error) {
	r, err := s.callAllow(ctx, allow, f)
	switch {
	case err != nil:
		return "", unavailable("ask how much may be shown", err)
	case r != "" && !r.known():
		return "", fmt.Errorf("%w: Allow returned an unknown redaction", ErrInvalid)
	}
	return r, nil
}

func (s *Service) callAllow(ctx context.Context, allow RedactionPolicy, f Field) (r Redaction, err error) {
	defer hook.Recover(ctx, s.opts.Logger, "Allow", &err)
	return allow(f), nil
}

// panicked reports whether an error is a panic of a hook.
func panicked(err error) bool {
	var p *hook.PanicError
	return errors.As(err, &p)
}
