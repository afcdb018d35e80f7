package authmgmttest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// newToken returns a token that stands for itself, without roles, that never expires.
func newToken(org string, created time.Duration) authmgmt.Token {
	return authmgmt.Token{ID: uuid.New(), Organization: org, Digest: newDigest(), Subject: "ann", CreatedAt: moment(created)}
}

// filledToken returns a token that stands for itself and has every field set that such a
// one can have.
func filledToken(org string) authmgmt.Token {
	k := newToken(org, 0)
	k.Roles = someRoles()
	k.ExpiresAt, k.RevokedAt = moment(time.Hour+time.Microsecond), moment(time.Microsecond)
	return k
}

// clientToken returns a token that a client got with one of its secrets. Its roles are
// the client's.
func clientToken(c authmgmt.Client, secret int, created time.Duration) authmgmt.Token {
	k := newToken(c.Organization, created)
	k.Subject, k.Client, k.Secret, k.Roles = "client:"+c.ID, c.ID, c.Secrets[secret].Digest, c.Roles
	k.ExpiresAt = k.CreatedAt.Add(time.Hour)
	return k
}

// addToken stores a token that must be new.
func (s *subject) addToken(t *testing.T, k authmgmt.Token) authmgmt.Token {
	t.Helper()
	require.NoError(t, s.createToken(t, k), "CreateToken")
	return k
}

// createToken calls CreateToken.
func (s *subject) createToken(t *testing.T, k authmgmt.Token) error {
	t.Helper()
	return s.Store.CreateToken(t.Context(), k.Clone(), newEvent(k.Organization, mortise.KindTokenIssued, k.ID.String(), 0))
}

// hasToken requires that the token is stored as it is here.
func (s *subject) hasToken(t *testing.T, want authmgmt.Token) {
	t.Helper()
	got, err := s.Store.TokenByDigest(t.Context(), want.Digest)
	require.NoError(t, err)
	sameToken(t, want, got)
}

// noToken requires that there is no such token, by whatever way.
func (s *subject) noToken(t *testing.T, k authmgmt.Token) {
	t.Helper()
	_, err := s.Store.TokenByDigest(t.Context(), k.Digest)
	require.ErrorIs(t, err, mortise.ErrNotFound)
	require.NotContains(t, tokenIDs(s.listTokens(t, k.Organization)), k.ID)
	require.ErrorIs(t, s.Store.UpdateToken(t.Context(), k.Organization, k.ID, func(*authmgmt.Token) (authmgmt.AuditEvent, error) {
		return authmgmt.AuditEvent{}, nil
	}), mortise.ErrNotFound)
}

// updateToken changes a token that must be there.
func (s *subject) updateToken(t *testing.T, k authmgmt.Token, change func(*authmgmt.Token)) {
	t.Helper()
	require.NoError(t, s.Store.UpdateToken(t.Context(), k.Organization, k.ID, func(k *authmgmt.Token) (authmgmt.AuditEvent, error) {
		change(k)
		return newEvent(k.Organization, mortise.KindTokenRevoked, k.ID.String(), 0), nil
	}))
}

// listTokens returns all tokens of an organization, on one page, and requires that so many
// are counted.
func (s *subject) listTokens(t *testing.T, org string) []authmgmt.Token {
	t.Helper()
	page, err := s.Store.ListTokens(t.Context(), org, "", mortise.MaxPageSize)
	require.NoError(t, err)
	n, err := s.Store.CountTokens(t.Context(), org, mortise.MaxCount)
	return whole(t, page, n, err)
}

// sameToken compares all fields.
func sameToken(t *testing.T, want, got authmgmt.Token) {
	t.Helper()
	want, got = want.Clone(), got.Clone()
	conformance.SameTime(t, "CreatedAt", want.CreatedAt, &got.CreatedAt)
	conformance.SameTime(t, "ExpiresAt", want.ExpiresAt, &got.ExpiresAt)
	conformance.SameTime(t, "RevokedAt", want.RevokedAt, &got.RevokedAt)
	noneIsNil(&want.Roles)
	noneIsNil(&got.Roles)
	conformance.Same(t, want, got)
}

// tokenIDs returns the IDs of tokens, in their order.
func tokenIDs(tokens []authmgmt.Token) []uuid.UUID {
	return conformance.Each(tokens, func(x *authmgmt.Token) uuid.UUID { return x.ID })
}
