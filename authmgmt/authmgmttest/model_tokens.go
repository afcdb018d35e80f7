package authmgmttest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// login tries a client's ID and a secret that somebody has or had.
func (r *run) login() {
	m := r.model
	var secrets []*modelSecret
	for _, c := range m.clients {
		secrets = append(secrets, c.secrets...)
	}
	id, text := r.clientID(), r.text()
	if s, ok := pickOf(r, secrets); ok && r.IntN(5) > 0 {
		text = s.text
	}
	var client *modelClient
	var secret *modelSecret
	for _, c := range m.clients {
		for _, s := range c.secrets {
			if s.text != text {
				continue
			}
			if r.IntN(6) > 0 {
				id = c.id
			}
			if c.id == id && (s.expires.IsZero() || m.clock.Now().Before(s.expires)) {
				client, secret = c, s
			}
		}
	}
	r.Say("client %q logs in (with one of %d secrets)", id, len(secrets))
	token, got, err := r.service.Login(r.Context(), id, text)
	if client == nil {
		r.sameError(authmgmt.ErrInvalidCredentials, err)
		return
	}
	if !r.sameError(nil, err) {
		return
	}
	k := &modelToken{
		text: got.Reveal(), id: token.ID.String(), org: client.org, subject: "client:" + client.id, client: client, secret: secret,
		created: m.clock.Now(), expires: m.clock.Now().Add(tokenLifetime),
	}
	if !secret.expires.IsZero() && secret.expires.Before(k.expires) {
		k.expires = secret.expires // a token does not outlive what is known of its secret
	}
	if m.clock.Now().Sub(secret.used) >= time.Minute {
		secret.used = m.clock.Now()
	}
	m.tokens = append(m.tokens, k)
	m.event(client.org, mortise.KindTokenIssued, k.subject, k.id)
	r.Same("the token", k.show(), showToken(&token))
}

func (r *run) verify() {
	if k, ok := pickOf(r, r.model.tokens); ok {
		r.Say("token %s is verified", k.id)
		r.compareToken(k)
	}
}

// compareToken asks what a token is good for.
func (r *run) compareToken(k *modelToken) {
	m := r.model
	who, err := r.service.VerifyToken(r.Context(), k.text)
	valid := k
	if !m.valid(k) {
		valid = nil
		for _, other := range m.tokens { // one that was imported with the same text
			if other.text == k.text && m.valid(other) {
				valid = other
			}
		}
	}
	if valid == nil {
		r.sameError(authmgmt.ErrInvalidCredentials, err)
		return
	}
	if !r.sameError(nil, err) {
		return
	}
	client := ""
	if valid.client != nil {
		client = valid.client.id
	}
	r.Same("the identity",
		fmt.Sprintf("%q %q %q %s %v full %v %q", valid.org, valid.subject, client, valid.id,
			stamp(valid.expires), len(valid.access()) == 0, valid.access()),
		fmt.Sprintf("%q %q %q %s %v full %v %q", who.Organization, who.Subject, who.Client, who.Token,
			stamp(who.ExpiresAt), who.Access.Full(), who.Access.Roles()))
}

// newToken returns a token to make, now and then with an ID that was used before.
func (r *run) newToken() authmgmt.NewToken {
	n := authmgmt.NewToken{Subject: pick(r, "user:ann", "user:bea"), Roles: r.roles(), Lifetime: pick(r, 0, authmgmt.NoExpiry, 5*time.Hour)}
	n.FullAccess = r.fullAccess(n.Roles)
	if k, ok := pickOf(r, r.model.tokens); ok && r.IntN(5) == 0 {
		n.ID = uuid.MustParse(k.id)
	}
	return n
}

func (r *run) issueToken() {
	org, by, n := r.org(), r.caller(), r.newToken()
	r.Say("%s: %s issues a token %v for %s with %v for %v", org, by.name, n.ID, n.Subject, n.Roles, n.Lifetime)
	token, text, err := r.service.IssueToken(r.Context(), org, r.as(by), n)
	if r.sameError(r.model.mayAddToken(by, n, text.Reveal()), err) {
		r.addToken(org, by, n, text.Reveal(), &token)
	}
}

func (r *run) importToken() {
	org, by, n, text := r.org(), r.caller(), r.newToken(), r.text()
	r.Say("%s: %s imports token %q as %v for %s with %v for %v", org, by.name, text, n.ID, n.Subject, n.Roles, n.Lifetime)
	token, err := r.service.ImportToken(r.Context(), org, r.as(by), n, text)
	if r.sameError(r.model.mayAddToken(by, n, text), err) {
		r.addToken(org, by, n, text, &token)
	}
}

func (m *model) mayAddToken(by *caller, n authmgmt.NewToken, text string) error {
	if err := m.checkRoles("", by, n.Roles, n.FullAccess, true); err != nil {
		return err
	}
	for _, k := range m.tokens {
		if k.live() && (k.text == text || k.id == n.ID.String()) {
			return mortise.ErrExists
		}
	}
	return nil
}

func (r *run) addToken(org string, by *caller, n authmgmt.NewToken, text string, got *authmgmt.Token) {
	m := r.model
	k := &modelToken{text: text, id: got.ID.String(), org: org, subject: n.Subject, roles: withoutRepeats(n.Roles), created: m.clock.Now()}
	if n.ID != uuid.Nil {
		k.id = n.ID.String()
	}
	switch n.Lifetime {
	case authmgmt.NoExpiry:
	case 0:
		k.expires = m.clock.Now().Add(tokenLifetime)
	default:
		k.expires = m.clock.Now().Add(n.Lifetime)
	}
	m.tokens = append(m.tokens, k)
	m.event(org, mortise.KindTokenIssued, by.name, k.id)
	r.Same("the new token", k.show(), showToken(got))
}

func (r *run) revokeToken() {
	k, ok := pickOf(r, r.model.tokens)
	if !ok {
		return
	}
	org, by := k.org, r.caller()
	if r.IntN(5) == 0 {
		org = r.org()
	}
	r.Say("%s: %s revokes token %s of %s", org, by.name, k.id, k.org)
	err := r.service.RevokeToken(r.Context(), org, r.as(by), uuid.MustParse(k.id))
	var found *modelToken
	for _, other := range r.model.tokens {
		if other.id == k.id && other.org == org && other.live() {
			found = other
		}
	}
	if found == nil {
		r.sameError(mortise.ErrNotFound, err)
		return
	}
	if !by.mayGive(found.access()) {
		r.sameError(authmgmt.ErrForbidden, err)
		return
	}
	r.sameError(nil, err)
	if !found.revoked {
		r.model.event(org, mortise.KindTokenRevoked, by.name, k.id)
	}
	found.revoked = true
}

func (k *modelToken) show() string {
	client := ""
	if k.client != nil {
		client = k.client.id
	}
	return fmt.Sprintf("%s %q %q %q %q %v %v revoked %v", k.id, k.org, k.subject, client, k.access(), stamp(k.created), stamp(k.expires), k.revoked)
}

func showToken(k *authmgmt.Token) string {
	return fmt.Sprintf("%s %q %q %q %q %v %v revoked %v", k.ID, k.Organization, k.Subject, k.Client, k.Roles,
		stamp(k.CreatedAt), stamp(k.ExpiresAt), !k.RevokedAt.IsZero())
}
