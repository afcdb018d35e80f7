package authmgmt

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"slices"

	"github.com/seed-6363c74e/mortise/internal/keytext"
)

// InvitationKey is what the links of invitations are computed from: 32 random bytes that
// the host keeps outside of the store. Whoever has it and the store can accept every
// pending invitation. It prints as [redacted]. The zero value is not a key.
// [Options.OtherInvitationKeys] says how it is changed.
type InvitationKey struct {
	// A function, because fmt does not call the methods of unexported fields, and prints
	// what a pointer leads to if a verb does not fit it.
	bytes func() *[keytext.Size]byte
}

// NewInvitationKey returns a key of exactly 32 random bytes, which it copies. Zeros, and
// bytes that a pattern gives, are refused.
func NewInvitationKey(key []byte) (InvitationKey, error) {
	bytes, err := keytext.New(key)
	return newInvitationKey(bytes, err, "an invitation key")
}

// ParseInvitationKey reads a key that is written as hex or base64 (RFC 4648, either
// alphabet, padded or not), with white space around it: openssl rand -hex 32 prints one.
func ParseInvitationKey(text string) (InvitationKey, error) {
	bytes, err := keytext.Parse(text)
	return newInvitationKey(bytes, err, "an invitation key")
}

// InvitationKeyFromFile reads a key from a file, as [ParseInvitationKey] does.
func InvitationKeyFromFile(path string) (InvitationKey, error) {
	bytes, err := keytext.FromFile(path)
	return newInvitationKey(bytes, err, "the invitation key of "+path)
}

func newInvitationKey(bytes [keytext.Size]byte, err error, which string) (InvitationKey, error) {
	if err == nil && keytext.Predictable(bytes) {
		err = errPredictable
	}
	if err != nil {
		return InvitationKey{}, fmt.Errorf("authmgmt: %s %w", which, err)
	}
	return InvitationKey{func() *[keytext.Size]byte { return &bytes }}, nil
}

var errPredictable = errors.New("must be random bytes, as openssl rand -hex 32 prints them; these follow a pattern")

// IsZero reports whether k is the zero value, which is not a key.
func (k InvitationKey) IsZero() bool { return k.bytes == nil }

const redacted = "[redacted]"

// String, Format, MarshalText and LogValue keep the key out of logs and messages, through
// every verb.
func (InvitationKey) String() string               { return redacted }
func (InvitationKey) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(redacted)) }
func (InvitationKey) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (InvitationKey) LogValue() slog.Value         { return slog.StringValue(redacted) }

// mac begins an HMAC for one purpose.
func (k InvitationKey) mac(purpose string) hash.Hash {
	h := hmac.New(sha256.New, k.bytes()[:])
	writeText(h, purpose)
	return h
}

func writeText(h hash.Hash, text string) {
	_ = binary.Write(h, binary.BigEndian, uint64(len(text)))
	h.Write([]byte(text))
}

// check is a value that tells the key from others, and that it cannot be had from.
func (k InvitationKey) check() [32]byte {
	return [32]byte(k.mac("mortise invitation key check v1").Sum(nil))
}

// maxOtherKeys bounds Options.OtherInvitationKeys: each makes every wrong link a little
// more work.
const maxOtherKeys = 8

// linkKeys returns the keys that open links. The one that makes them is the first.
func (o *Options) linkKeys() ([]InvitationKey, error) {
	key, others := o.InvitationKey, o.OtherInvitationKeys
	if key.IsZero() {
		if len(others) > 0 {
			return nil, errors.New("authmgmt: Options.OtherInvitationKeys needs Options.InvitationKey, the key that makes links")
		}
		return nil, nil
	}
	if len(others) > maxOtherKeys {
		return nil, fmt.Errorf("authmgmt: Options.OtherInvitationKeys has %d keys and can have %d: "+
			"leave out those whose links have all expired",
			len(others), maxOtherKeys)
	}
	keys := []InvitationKey{key}
	for i, other := range others {
		if other.IsZero() {
			return nil, fmt.Errorf("authmgmt: Options.OtherInvitationKeys[%d] is no key: "+
				"leave it out, or read one with ParseInvitationKey", i)
		}
		switch same := slices.IndexFunc(keys, other.equal); {
		case same == 0:
			return nil, fmt.Errorf("authmgmt: Options.OtherInvitationKeys[%d] is the InvitationKey: "+
				"leave it out of the others", i)
		case same > 0:
			return nil, fmt.Errorf("authmgmt: Options.OtherInvitationKeys[%d] is the same key as [%d]: "+
				"leave one of them out", i, same-1)
		}
		keys = append(keys, other)
	}
	return keys, nil
}

// equal takes the same time wherever the keys differ.
func (k InvitationKey) equal(other InvitationKey) bool {
	return hmac.Equal(k.bytes()[:], other.bytes()[:])
}

// CheckKey returns [ErrWrongKey] if the store knows other keys, and none of the
// service's. Otherwise it makes all of the service's keys known to the store, as values
// from which the keys cannot be computed. So a new store takes any key, and later a new
// key comes beside one that is known. The other errors are [mortise.ErrUnavailable], and
// errors.ErrUnsupported if the store does not implement [KeyChecker] or the service has
// no key.
//
// A key stays known when it is left out of the Options, so that servers that still have
// it go on. Only the 64 that became known last are kept.
//
// What needs the key (to make an invitation, to show its link, to accept it, and Run)
// checks it by itself, until it has proved right once. A host calls CheckKey to learn of
// a wrong key at its start.
func (s *Service) CheckKey(ctx context.Context) error {
	if s.opts.InvitationKey.IsZero() {
		return errNoInvitations
	}
	checker, ok := s.store.(KeyChecker)
	if !ok {
		return fmt.Errorf("authmgmt: the store cannot check the invitation key: %w", errors.ErrUnsupported)
	}
	own := make([][32]byte, len(s.keys))
	for i, key := range s.keys {
		own[len(own)-1-i] = key.check() // what makes the links is noted last
	}
	var refused refusal
	err := checker.UpdateKeyChecks(ctx, func(noted [][32]byte) (_ [][32]byte, err error) {
		noted, refused.err = noteKeys(noted, own)
		return noted, refused.err
	})
	if err = refused.of("check the key", err); err != nil {
		return err
	}
	if !s.hosted(ctx) {
		s.keyFits.Store(true)
	}
	return nil
}

// maxKeyChecks bounds the keys that a store has noted. A host that changes the key each
// month reaches it after five years.
const maxKeyChecks = 64

// noteKeys adds a service's keys to those that a store has noted, unless it has noted
// some and none of these.
func noteKeys(noted, own [][32]byte) ([][32]byte, error) {
	known := func(check [32]byte) bool { return slices.Contains(noted, check) }
	if len(noted) > 0 && !slices.ContainsFunc(own, known) {
		return nil, ErrWrongKey
	}
	missing := slices.DeleteFunc(slices.Clone(own), known)
	excess := len(noted) + len(missing) - maxKeyChecks
	var kept [][32]byte
	for _, check := range noted {
		if excess > 0 && !slices.Contains(own, check) {
			excess--
			continue
		}
		kept = append(kept, check)
	}
	return append(kept, missing...), nil
}

// needKey is called before the key is used. If the store cannot check the key, it is
// taken for the right one.
func (s *Service) needKey(ctx context.Context) error {
	if s.opts.AcceptURL == "" {
		return errNoInvitations
	}
	if s.keyFits.Load() {
		return nil
	}
	if err := s.CheckKey(ctx); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
