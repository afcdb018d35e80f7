package authmgmt_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/printed"
)

func hexText(b []byte) string { return hex.EncodeToString(b) }

// encodings returns the forms in which a secret could be found: as it is, its random part
// in hexadecimal, and both in base64.
func encodings(secret string) []string {
	forms := []string{secret}
	random := secret
	if len(secret) == len("at-")+64 {
		random = secret[len("at-"):]
		forms = append(forms, random)
		if raw, err := hex.DecodeString(random); err == nil {
			forms = append(forms, string(raw), base64.RawStdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw))
		}
	}
	// Of base64 over other text, only what does not depend on the neighbours: without the
	// first and last three characters.
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + random))
		forms = append(forms, text[4:len(text)-4])
	}
	return append(forms, hexText([]byte(secret)))
}

// Nothing but the return values of the calls that make them holds a secret: no audit
// event, observation, log line or error.
func TestSecretsAreNowhereElse(t *testing.T) {
	var results strings.Builder // what the calls give, printed
	show := func(all ...any) {
		for _, result := range all {
			text, err := printed.Ways(result)
			require.NoError(t, err)
			results.WriteString(text)
		}
	}
	granted := false
	r := newRig(t, authmgmt.Options{
		Deliver: func(_ context.Context, i authmgmt.Invitation, url mortise.Secret) error {
			show(i, url)
			return nil
		},
		Grant: func(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
			show(a)
			if !granted {
				return mortise.Secret{}, errors.New("later")
			}
			return mortise.NewSecret("at-" + strings.Repeat("0123456789abcdef", 4)), nil
		},
	})
	ctx := t.Context()
	c, first := r.newClient(t, "viewer")
	rotated, second, err := r.RotateSecret(ctx, "acme", full, c.ID, 0)
	require.NoError(t, err)
	record, login, err := r.Login(ctx, c.ID, second.Reveal())
	require.NoError(t, err)
	token := login.Reveal()
	ownRecord, own, err := r.IssueToken(ctx, "acme", full, authmgmt.NewToken{Subject: "s", FullAccess: true})
	require.NoError(t, err)
	other, otherSecret, err := r.CreateClient(ctx, "acme", full, authmgmt.NewClient{Name: "n", FullAccess: true})
	require.NoError(t, err)
	show(rotated, second, record, login, ownRecord, own, other, otherSecret)
	i, err := r.Invite(ctx, "acme", full, authmgmt.NewInvitation{Email: "a@example.com", Name: "a", Roles: roles("viewer")})
	require.NoError(t, err)
	link := r.link(&i)
	resent, err := r.ResendInvitation(ctx, "acme", full, i.ID)
	require.NoError(t, err)
	linkToken, err := r.LinkToken(ctx, &resent)
	require.NoError(t, err)
	url, err := r.URL(ctx, &resent)
	require.NoError(t, err)
	show(linkToken, url)

	var errs []error
	_, err = r.VerifyToken(ctx, token+"x")
	errs = append(errs, err)
	_, _, err = r.Login(ctx, c.ID, second.Reveal()+"x")
	errs = append(errs, err)
	_, err = r.ImportClient(ctx, "acme", full, authmgmt.NewClient{Name: "n", FullAccess: true}, second.Reveal())
	errs = append(errs, err)
	_, err = r.ImportToken(ctx, "acme", full, authmgmt.NewToken{Subject: "s", FullAccess: true}, token)
	errs = append(errs, err)
	_, _, err = r.Accept(ctx, link, "")
	errs = append(errs, err)
	_, err = r.InvitationByLink(ctx, link)
	errs = append(errs, err)
	_, _, err = r.Accept(ctx, linkToken.Reveal(), "a")
	errs = append(errs, err)
	granted = true
	r.advance(time.Minute)
	accepted, reply, err := r.Accept(ctx, linkToken.Reveal(), "a")
	require.NoError(t, err)
	require.False(t, reply.IsZero())
	show(accepted)
	show(reply)

	var seen strings.Builder
	seen.WriteString(results.String())
	for _, err := range errs {
		require.Error(t, err)
		fmt.Fprintf(&seen, "%v %+v %#v\n", err, err, err)
	}
	for _, o := range r.observations() {
		text, err := json.Marshal(o)
		require.NoError(t, err)
		fmt.Fprintf(&seen, "%s %+v\n", text, o)
	}
	for _, e := range r.trail(t, "acme") {
		text, err := json.Marshal(e)
		require.NoError(t, err)
		fmt.Fprintf(&seen, "%s\n", text)
	}
	clients, err := r.ListClients(ctx, "acme", "", 0)
	require.NoError(t, err)
	invitations, err := r.ListInvitations(ctx, "acme", "", "", 0)
	require.NoError(t, err)
	fmt.Fprintf(&seen, "%+v %+v %s\n", clients, invitations, r.logs)
	_, linkSecret, _ := strings.Cut(link, ".")
	_, newLinkSecret, _ := strings.Cut(r.link(&resent), ".")
	for _, secret := range []string{
		first, second.Reveal(), token, own.Reveal(), otherSecret.Reveal(), reply.Reveal(), linkSecret, newLinkSecret, string([]byte(testKeyText)), hexText([]byte(testKeyText)),
	} {
		for _, form := range encodings(secret) {
			require.GreaterOrEqual(t, len(form), 24)
			assert.False(t, strings.Contains(seen.String(), form), "%q", form)
		}
		assert.Empty(t, printed.Found(seen.String(), secret))
	}
}

// Ten thousand secrets of each kind are unique, and every bit of them is as good as any
// other.
func TestSecretsAreUniqueAndUniform(t *testing.T) {
	r := newRig(t, authmgmt.Options{Env: mortise.Env{Rand: rand.Reader}})
	const n = 10_000
	seen := make(map[string]bool, 2*n)
	var ones [2][256]int
	for range n {
		c, secret := r.newClient(t)
		token, _ := r.login(t, c.ID, secret)
		for kind, issued := range []string{secret, token} {
			require.False(t, seen[issued])
			seen[issued] = true
			raw, err := hex.DecodeString(issued[3:])
			require.NoError(t, err)
			for bit := range 256 {
				ones[kind][bit] += int(raw[bit/8]>>(bit%8)) & 1
			}
		}
	}
	// Each bit is one in half of them, within 6 standard deviations: one of the 512 fails
	// by chance in a million runs.
	limit := 6 * math.Sqrt(n) / 2
	for kind := range ones {
		for bit, count := range ones[kind] {
			assert.InDelta(t, n/2, count, limit, "kind %d, bit %d", kind, bit)
		}
	}
}
