package authmgmt_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

func TestInvitationKeyPrintsAsRedacted(t *testing.T) {
	key := testKey
	type settings struct{ Key authmgmt.InvitationKey }
	var b bytes.Buffer
	r := newRig(t, authmgmt.Options{})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		fmt.Fprintf(&b, verb, r.Service)
	}
	slog.New(slog.NewTextHandler(&b, nil)).Info("service", "service", r.Service)
	slog.New(slog.NewTextHandler(&b, nil)).Info("key", "key", key, "pointer", &key, "in", settings{key})
	slog.New(slog.NewJSONHandler(&b, nil)).Info("key", "key", key, "pointer", &key, "in", settings{key})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b", "%o", "%c", "%U", "%t", "%T"} {
		fmt.Fprintf(&b, verb+" "+verb+" "+verb+"\n", key, &key, settings{key})
	}
	for _, v := range []any{key, &key, settings{key}, map[string]any{"k": key}} {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		b.Write(text)
	}
	seen := strings.ToLower(b.String())
	for _, form := range []string{"5a5a", "90 90", "90,90", "zzzz", "wlpa", "0x5a", "1011010"} {
		assert.NotContains(t, seen, form)
	}
	assert.Contains(t, seen, "[redacted]")
}

func TestLinks(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com")
	link := r.LinkToken(&i)
	assert.Equal(t, link, r.LinkToken(&i), "it can be shown again")
	name, secret, found := strings.Cut(link, ".")
	require.True(t, found)
	raw, err := base64.RawURLEncoding.DecodeString(secret)
	require.NoError(t, err)
	assert.Len(t, raw, 32)
	assert.NotContains(t, link, i.ID, "the ID stands in the link, but it is not the secret")

	// Every part of it counts: organization, ID, generation, and key.
	for _, change := range []func(*authmgmt.Invitation){
		func(i *authmgmt.Invitation) { i.Organization = "globex" },
		func(i *authmgmt.Invitation) { i.ID += "x" },
		func(i *authmgmt.Invitation) { i.Generation++ },
		func(i *authmgmt.Invitation) { i.Organization, i.ID = i.Organization+i.ID[:1], i.ID[1:] },
	} {
		other := i
		change(&other)
		_, otherSecret, _ := strings.Cut(r.LinkToken(&other), ".")
		assert.NotEqual(t, secret, otherSecret)
		_, err := r.InvitationByLink(t.Context(), name+"."+otherSecret)
		assert.Equal(t, authmgmt.ErrNotFound, err)
	}
	s, err := authmgmt.New(r.store, authmgmt.InvitationKey(bytes.Repeat([]byte{1}, 32)), nil)
	require.NoError(t, err)
	assert.NotEqual(t, link, s.LinkToken(&i))
	_, err = s.InvitationByLink(t.Context(), link)
	assert.Equal(t, authmgmt.ErrNotFound, err)

	for _, wrong := range []string{
		"", ".", link + ".", link + "A", link[:len(link)-1], "." + secret, name + ".", name, secret, i.ID, i.ID + "." + secret, link + "\n", " " + link,
		strings.ToUpper(link), name + "=." + secret, strings.Repeat("A", 2000), strings.Repeat("A", 500) + "." + secret, "____." + secret, "gICAgICAgICAgIAB." + secret,
	} {
		_, err := r.InvitationByLink(t.Context(), wrong)
		assert.Equal(t, authmgmt.ErrNotFound, err, "%q", wrong)
		_, err = r.Accept(t.Context(), wrong, authmgmt.Person{})
		assert.Equal(t, authmgmt.ErrNotFound, err, "%q", wrong)
	}
	// Base64 has spare bits at its end. Only one way to write them is right.
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		other := link[:len(link)-1] + string(c)
		_, err := r.InvitationByLink(t.Context(), other)
		assert.Equal(t, other == link, err == nil, other)
	}
}

// An ID that comes again, after its invitation was forgotten, does not bring the old links back.
func TestRecycledInvitationHasOtherLinks(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	n := authmgmt.NewInvitation{ID: "inv1", Email: "alan@example.com", Name: "Alan"}
	first, err := r.ImportInvitation(t.Context(), "acme", full, n)
	require.NoError(t, err)
	require.NoError(t, r.CancelInvitation(t.Context(), "acme", full, "inv1"))
	r.advance(1)
	r.advance(authmgmt.MaxInvitationLifetime)
	pruned, err := r.Prune(t.Context(), authmgmt.PruneBefore{Invitations: r.now()})
	require.NoError(t, err)
	assert.Equal(t, 1, pruned.Invitations)
	second, err := r.ImportInvitation(t.Context(), "acme", full, n)
	require.NoError(t, err)
	assert.NotEqual(t, r.LinkToken(&first), r.LinkToken(&second))
	_, err = r.InvitationByLink(t.Context(), r.LinkToken(&first))
	assert.Equal(t, authmgmt.ErrNotFound, err)
}

func TestCheckKey(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	require.NoError(t, r.CheckKey(t.Context()))
	require.NoError(t, r.CheckKey(t.Context()))
	other, err := authmgmt.New(r.store, authmgmt.InvitationKey(bytes.Repeat([]byte{1}, 32)), nil)
	require.NoError(t, err)
	assert.Equal(t, authmgmt.ErrWrongKey, other.CheckKey(t.Context()))
	require.NoError(t, r.CheckKey(t.Context()), "a wrong key does not take the place of the right one")
	plain, err := authmgmt.New(struct{ authmgmt.Store }{r.store}, testKey, nil)
	require.NoError(t, err)
	assert.ErrorIs(t, plain.CheckKey(t.Context()), errors.ErrUnsupported)
}

func TestNewRefuses(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	_, err := authmgmt.New(nil, testKey, nil)
	assert.Error(t, err)
	_, err = authmgmt.New(r.store, authmgmt.InvitationKey{}, nil)
	assert.Error(t, err)
	for _, o := range []authmgmt.Options{
		{InvitationLifetime: authmgmt.MaxInvitationLifetime + 1},
		{SecretOverlap: authmgmt.MaxSecretOverlap + 1},
		{AcceptURL: "join/"}, {AcceptURL: "/join/"}, {AcceptURL: "ftp://example.com/"}, {AcceptURL: "https://"}, {AcceptURL: "https://user:word@example.com/"}, {AcceptURL: "https://%zz/"},
		{AcceptURL: "https://app.example.com"}, {AcceptURL: "https://app.example.com/join"}, {TokenCache: time.Minute + 1}, {GrantTimeout: time.Hour + 1},
	} {
		_, err := authmgmt.New(r.store, testKey, &o)
		if assert.Error(t, err, "%+v", o) {
			assert.NotContains(t, err.Error(), "word")
		}
	}
}

func FuzzLink(f *testing.F) {
	f.Add("BGFjbWVpbnYx.AAAA")
	f.Add(".")
	f.Add("gICAgICAgICAgIAB.AAAA")
	db := newRig(&testing.T{}, authmgmt.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := db.InvitationByLink(t.Context(), text); !errors.Is(err, authmgmt.ErrNotFound) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
