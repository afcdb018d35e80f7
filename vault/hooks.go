package vault

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// safeKeyring is the host's keyring for batches of any size: it splits them, and answers
// for every item or not at all.
type safeKeyring struct {
	keyring keyring.Keyring
	limits  keyring.Limits
}

const keyringHook = "the keyring"

func (k *safeKeyring) Versions(ctx context.Context) (keyring.Versions, error) {
	v, err := k.keyring.Versions(ctx)
	return v, fromHook(err, keyring.ErrUnknownKey)
}

// Fingerprint writes the fingerprints of items to dst.
func (k *safeKeyring) Fingerprint(
	ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint,
) error {
	for from := 0; from < len(items); {
		to := partEnd(k.limits, items, from, fingerprintSize)
		part := dst[from:to]
		clear(part) // dst may hold the fingerprints of another version
		if err := k.keyring.Fingerprint(ctx, version, items[from:to], part); err != nil {
			return fromHook(err, keyring.ErrUnknownKey)
		}
		if slices.Contains(part, keyring.Fingerprint{}) {
			return errNoAnswer
		}
		from = to
	}
	return nil
}

// Seal seals all items. It is an error if one of them could not be sealed.
func (k *safeKeyring) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	call := func(part []keyring.SealItem) ([]keyring.SealResult, error) {
		results, err := k.keyring.Seal(ctx, part)
		return results, fromHook(err, keyring.ErrUnknownKey)
	}
	results, err := inParts(keyringHook, k.limits, items, sealSize, call)
	if err != nil {
		return nil, err
	}
	for i := range results {
		switch r := &results[i]; {
		case r.Err != nil:
			return nil, fromHook(r.Err, keyring.ErrUnknownKey)
		case r.Sealed.Version <= 0 || len(r.Sealed.Ciphertext) == 0:
			return nil, errNoAnswer // what would be stored could never be opened
		case len(r.Sealed.Ciphertext) > keyring.MaxCiphertext:
			return nil, errLongSealed // likewise
		}
	}
	return results, nil
}

// Open opens items. The error of one is ErrCorrupt or ErrUnknownKey; after any other, all
// have failed.
func (k *safeKeyring) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	call := func(part []keyring.OpenItem) ([]keyring.OpenResult, error) {
		results, err := k.keyring.Open(ctx, part)
		return results, fromHook(err, keyring.ErrUnknownKey)
	}
	results, err := inParts(keyringHook, k.limits, items, openSize, call)
	if err != nil {
		return nil, err
	}
	for i := range results {
		switch r := &results[i]; {
		case r.Err != nil:
			// Of one that is both: a key can be loaded, and what is corrupt is thrown
			// away.
			if r.Err = fromHook(r.Err, keyring.ErrUnknownKey, keyring.ErrCorrupt); !isItems(r.Err) {
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
	tokenizer format.Tokenizer
	limits    keyring.Limits
}

const tokenizerHook = "the tokenizer"

// Tokens makes tokens. The error of a request is ErrMismatch or ErrExhausted; after any
// other, all have failed.
func (t *safeTokenizer) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	call := func(part []format.Request) ([]format.Result, error) {
		results, err := t.tokenizer.Tokens(ctx, part)
		return results, fromHook(err)
	}
	results, err := inParts(tokenizerHook, t.limits, requests, requestSize, call)
	if err != nil {
		return nil, err
	}
	for i := range results {
		switch r := &results[i]; {
		case r.Err != nil:
			if r.Err = fromHook(r.Err, format.ErrMismatch, format.ErrExhausted); !isItems(r.Err) {
				return nil, r.Err
			}
		case name.Problem(r.Token) != "":
			return nil, fmt.Errorf("%w: the tokenizer made a token that is none: it %s", mortise.ErrUnavailable,
				name.Problem(r.Token))
		case (&format.Pair{Value: requests[i].Value, Token: r.Token}).ShowsValue():
			return nil, fmt.Errorf("%w: the tokenizer made a token that is its value", mortise.ErrUnavailable)
		}
	}
	return results, nil
}

// CheckTokens checks pairs. The error of one is ErrMismatch; after any other, all have
// failed. What can be the token of no value is told by itself: no tokenizer has to know.
func (t *safeTokenizer) CheckTokens(ctx context.Context, pairs []format.Pair) ([]error, error) {
	call := func(part []format.Pair) ([]error, error) {
		errs, err := t.tokenizer.CheckTokens(ctx, part)
		return errs, fromHook(err)
	}
	errs, err := inParts(tokenizerHook, t.limits, pairs, pairSize, call)
	if err != nil {
		return nil, err
	}
	for i := range errs {
		if errs[i] == nil {
			errs[i] = pairs[i].Check()
		} else if errs[i] = fromHook(errs[i], format.ErrMismatch); !isItems(errs[i]) {
			return nil, errs[i]
		}
	}
	return errs, nil
}
