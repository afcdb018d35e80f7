package authmgmt

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// LinkToken returns the token of an invitation's link: organization and ID, and the
// secret. Whoever has it can accept the invitation. The errors are those of the key:
// [ErrWrongKey], [mortise.ErrUnavailable], and errors.ErrUnsupported if there are no
// invitations.
func (s *Service) LinkToken(ctx context.Context, i *Invitation) (mortise.Secret, error) {
	if err := s.needKey(ctx); err != nil {
		return mortise.Secret{}, err
	}
	return mortise.NewSecret(s.linkToken(i)), nil
}

func (s *Service) linkToken(i *Invitation) string {
	return linkName(i) + "." + s.opts.InvitationKey.linkSecret(i)
}

// linkName is the part of a link's token that says which invitation it is about.
func linkName(i *Invitation) string {
	name := append(binary.AppendUvarint(nil, uint64(len(i.Organization))), i.Organization...)
	return linkEncoding.EncodeToString(append(name, i.ID...))
}

// linkSecret is HMAC-SHA-256 over organization, ID and generation, each written so that
// no two differ only in where they are cut.
func (k InvitationKey) linkSecret(i *Invitation) string {
	h := k.mac("mortise invitation link v1")
	writeText(h, i.Organization)
	writeText(h, i.ID)
	_ = binary.Write(h, binary.BigEndian, i.Generation) // a hash does not fail
	return linkEncoding.EncodeToString(h.Sum(nil))
}

// URL returns the address of an invitation's link: Options.AcceptURL and the link's
// token. Its errors are those of LinkToken.
func (s *Service) URL(ctx context.Context, i *Invitation) (mortise.Secret, error) {
	if err := s.needKey(ctx); err != nil {
		return mortise.Secret{}, err
	}
	return s.url(i), nil
}

func (s *Service) url(i *Invitation) mortise.Secret {
	return mortise.NewSecret(s.opts.AcceptURL + s.linkToken(i))
}

// withoutLink returns an error of the host's about an invitation, unless its text quotes
// a link of it, as those of HTTP clients do.
func (s *Service) withoutLink(err error, i *Invitation) error {
	for _, key := range s.keys { // none: there is no link
		if strings.Contains(err.Error(), key.linkSecret(i)) {
			return errQuotesLink
		}
	}
	return err
}

var errQuotesLink = errors.New("authmgmt: a function of Options failed; " +
	"what it said is left out, for it quotes the invitation's link")

// linkEncoding is base64url (RFC 4648 section 5).
var linkEncoding = base64.RawURLEncoding

// maxLink bounds a link's token, in bytes. Organization and ID have name.Max bytes at
// most.
const maxLink = 1024

// parseLink returns which invitation a link's token is about. Whether it opens it is
// another question.
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

// opens reports whether the token is that of the invitation's link under one of the keys,
// in a time that does not say under which, nor how much of it is right. There is one way
// to write it.
func (s *Service) opens(token string, i *Invitation) bool {
	name, opened := linkName(i), 0
	for _, key := range s.keys {
		opened |= subtle.ConstantTimeCompare([]byte(token), []byte(name+"."+key.linkSecret(i)))
	}
	return opened == 1
}
