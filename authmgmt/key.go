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

	"github.com/seed-6363c74e/mortise/internal/name"
)

// InvitationKey is what the links of invitations are computed from: 32 random bytes that the host keeps outside of the store. Whoever has
// it and the store can accept every pending invitation. It prints as [redacted].
type InvitationKey [32]byte

const redacted = "[redacted]"

// String, Format, MarshalText and LogValue keep the key out of logs and messages, through every verb.
func (InvitationKey) String() string               { return redacted }
func (InvitationKey) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(redacted)) }
func (InvitationKey) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (InvitationKey) LogValue() slog.Value         { return slog.StringValue(redacted) }

// mac begins an HMAC for one purpose.
func (k *InvitationKey) mac(purpose string) hash.Hash {
	h := hmac.New(sha256.New, k[:])
	writeText(h, purpose)
	return h
}

// linkSecret is HMAC-SHA-256 over organization, ID and generation, each written so that no two differ only in where they are cut.
func (s *Service) linkSecret(org, id string, generation int64) []byte {
	h := s.keyed("mortise invitation link v1")
	writeText(h, org)
	writeText(h, id)
	_ = binary.Write(h, binary.BigEndian, generation) // a hash does not fail
	return h.Sum(nil)
}

func writeText(h hash.Hash, text string) {
	_ = binary.Write(h, binary.BigEndian, uint64(len(text)))
	h.Write([]byte(text))
}

// CheckKey returns [ErrWrongKey] if the store's invitations were made with another key than the service's. On a new store it notes which one it
// is, as a value that the key cannot be had from. If the store is no [KeyChecker], the error is errors.ErrUnsupported.
func (s *Service) CheckKey(ctx context.Context) error {
	checker, ok := s.store.(KeyChecker)
	if !ok {
		return errors.ErrUnsupported
	}
	value := [32]byte(s.keyed("mortise invitation key check v1").Sum(nil))
	stored, err := checker.KeyCheck(ctx, value)
	if err != nil {
		return unavailable("check the key", err)
	}
	if !hmac.Equal(stored[:], value[:]) {
		return ErrWrongKey
	}
	return nil
}

// LinkToken returns the token of an invitation's link: organization and ID, and the secret. Whoever has it can accept the invitation.
func (s *Service) LinkToken(i *Invitation) string {
	name := append(binary.AppendUvarint(nil, uint64(len(i.Organization))), i.Organization...)
	name = append(name, i.ID...)
	return linkEncoding.EncodeToString(name) + "." + linkEncoding.EncodeToString(s.linkSecret(i.Organization, i.ID, i.Generation))
}

// URL returns the address of an invitation's link: Options.AcceptURL and the link's token.
func (s *Service) URL(i *Invitation) string { return s.opts.AcceptURL + s.LinkToken(i) }

// withoutLink returns an error of the host's about an invitation, unless its text quotes the link, as those of HTTP clients do.
func (s *Service) withoutLink(err error, i *Invitation) error {
	_, secret, _ := strings.Cut(s.LinkToken(i), ".")
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
	return hmac.Equal([]byte(token), []byte(s.LinkToken(i)))
}
