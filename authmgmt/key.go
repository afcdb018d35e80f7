package authmgmt

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/keytext"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// InvitationKey is what the links of invitations are computed from: 32 random bytes that
// the host keeps outside of the store. Whoever has it and the store can accept every
// pending invitation. It prints as [redacted]. The zero value is no key.
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

// InvitationKeyFromEnv reads a key from an environment variable, as [ParseInvitationKey]
// does.
func InvitationKeyFromEnv(name string) (InvitationKey, error) {
	bytes, err := keytext.FromEnv(name)
	return newInvitationKey(bytes, err, "the invitation key of "+name)
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

// IsZero reports whether k is no key.
func (k InvitationKey) IsZero() bool { return k.bytes == nil }

const redacted = "[redacted]"

// String, Format, MarshalText and LogValue keep the key out of logs and messages, through every verb.
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

// linkSecret is HMAC-SHA-256 over organization, ID and generation, each written so that no two differ only in where they are cut.
func (s *Service) linkSecret(org, id string, generation int64) []byte {
	h := s.opts.InvitationKey.mac("mortise invitation link v1")
	writeText(h, org)
	writeText(h, id)
	_ = binary.Write(h, binary.BigEndian, generation) // a hash does not fail
	return h.Sum(nil)
}

func writeText(h hash.Hash, text string) {
	_ = binary.Write(h, binary.BigEndian, uint64(len(text)))
	h.Write([]byte(text))
}

// CheckKey returns [ErrWrongKey] if the store's invitations were made with another key
// than the service's. On a new store it notes which one it is, as a value that the key
// cannot be had from. If the store is no [KeyChecker], or the service has no key, the
// error is errors.ErrUnsupported.
//
// What needs the key (to make an invitation, to show its link, to accept it, and Run)
// checks it by itself, until it has proved right once. A host calls CheckKey to know at
// its start.
func (s *Service) CheckKey(ctx context.Context) error {
	if s.opts.InvitationKey.IsZero() {
		return errNoInvitations
	}
	checker, ok := s.store.(KeyChecker)
	if !ok {
		return fmt.Errorf("authmgmt: the store cannot check the invitation key: %w", errors.ErrUnsupported)
	}
	value := [32]byte(s.opts.InvitationKey.mac("mortise invitation key check v1").Sum(nil))
	stored, err := checker.KeyCheck(ctx, value)
	if err != nil {
		return unavailable("check the key", err)
	}
	if !hmac.Equal(stored[:], value[:]) {
		return ErrWrongKey
	}
	s.keyFits.Store(true)
	return nil
}

// needKey is called before the key is used. If the store cannot check the key, it is taken
// for the right one.
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

// LinkToken returns the token of an invitation's link: organization and ID, and the
// secret. Whoever has it can accept the invitation. The errors are those of the key:
// [ErrWrongKey], [ErrUnavailable], and errors.ErrUnsupported if there are no invitations.
func (s *Service) LinkToken(ctx context.Context, i *Invitation) (string, error) {
	if err := s.needKey(ctx); err != nil {
		return "", err
	}
	return s.linkToken(i), nil
}

func (s *Service) linkToken(i *Invitation) string {
	name := append(binary.AppendUvarint(nil, uint64(len(i.Organization))), i.Organization...)
	name = append(name, i.ID...)
	return linkEncoding.EncodeToString(name) + "." + linkEncoding.EncodeToString(s.linkSecret(i.Organization, i.ID, i.Generation))
}

// URL returns the address of an invitation's link: Options.AcceptURL and the link's
// token. Its errors are those of LinkToken.
func (s *Service) URL(ctx context.Context, i *Invitation) (string, error) {
	token, err := s.LinkToken(ctx, i)
	if err != nil {
		return "", err
	}
	return s.opts.AcceptURL + token, nil
}

// withoutLink returns an error of the host's about an invitation, unless its text quotes the link, as those of HTTP clients do.
func (s *Service) withoutLink(err error, i *Invitation) error {
	if s.opts.InvitationKey.IsZero() { // there is no link
		return err
	}
	_, secret, _ := strings.Cut(s.linkToken(i), ".")
	if strings.Contains(err.Error(), secret) {
		return errQuotesLink
	}
	return err
}

var errQuotesLink = errors.New("authmgmt: a function of Options failed; what it said is left out, for it quotes the invitation's link")

// linkEncoding is base64url (RFC 4648 section 5).
var linkEncoding = base64.RawURLEncoding

// maxLink bounds a link's token, in bytes. Organization and ID have name.Max bytes at most.
const maxLink = 1024

// parseLink returns which invitation a link's token is about. Whether it opens it is another question.
func parseLink(token string) (org, id string, ok bool) {
	text, _, found := strings.Cut(token, ".")
	if !found || len(token) > maxLink {
		return "", "", false
	}
	raw, err := linkEncoding.DecodeString(text)
	if err != nil {
		return "", "", false
	}
	length, n := binary.Uvarint(raw)
	if n <= 0 || length > uint64(len(raw)-n) {
		return "", "", false
	}
	org, id = string(raw[n:n+int(length)]), string(raw[n+int(length):])
	return org, id, name.Problem(org) == "" && name.Problem(id) == ""
}

// opens reports whether the token is that of the invitation's link, in constant time. There is one way to write it.
func (s *Service) opens(token string, i *Invitation) bool {
	return hmac.Equal([]byte(token), []byte(s.linkToken(i)))
}
