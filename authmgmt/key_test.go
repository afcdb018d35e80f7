package authmgmt_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/printed"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

func TestInvitationKeyPrintsAsRedacted(t *testing.T) {
	key := testKey
	r := newRig(t, authmgmt.Options{})
	seen, err := printed.Ways(key)
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString(seen)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		fmt.Fprintf(&b, verb, r.Service)
	}
	slog.New(slog.NewTextHandler(&b, nil)).Info("service", "service", r.Service)
	assert.Empty(t, printed.Found(b.String(), testKeyText[:12]))
	assert.Contains(t, seen, "[redacted]")
}

func TestLinks(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com")
	link := r.link(&i)
	assert.Equal(t, link, r.link(&i), "it can be shown again")
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
		_, otherSecret, _ := strings.Cut(r.link(&other), ".")
		assert.NotEqual(t, secret, otherSecret)
		_, err := r.InvitationByLink(t.Context(), name+"."+otherSecret)
		assert.Equal(t, mortise.ErrNotFound, err)
	}
	// Of another key, on a store that cannot tell.
	s, err := authmgmt.New(authmgmt.Backend{Store: struct{ authmgmt.Store }{r.store}}, withKey(otherKey))
	require.NoError(t, err)
	others, err := s.LinkToken(t.Context(), &i)
	require.NoError(t, err)
	assert.NotEqual(t, link, others.Reveal())
	_, err = s.InvitationByLink(t.Context(), link)
	assert.Equal(t, mortise.ErrNotFound, err)

	for _, wrong := range []string{
		"", ".", link + ".", link + "A", link[:len(link)-1], "." + secret, name + ".", name, secret, i.ID, i.ID + "." + secret, link + "\n", " " + link,
		strings.ToUpper(link), name + "=." + secret, strings.Repeat("A", 2000), strings.Repeat("A", 500) + "." + secret, "____." + secret, "gICAgICAgICAgIAB." + secret,
	} {
		_, err := r.InvitationByLink(t.Context(), wrong)
		assert.Equal(t, mortise.ErrNotFound, err, "%q", wrong)
		_, _, err = r.Accept(t.Context(), wrong, "")
		assert.Equal(t, mortise.ErrNotFound, err, "%q", wrong)
	}
	// Base64 has spare bits at its end. Only one way to write them is right.
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		other := link[:len(link)-1] + string(c)
		_, err := r.InvitationByLink(t.Context(), other)
		assert.Equal(t, other == link, err == nil, other)
	}
}

// An ID that comes again, after its invitation was forgotten, does not bring the old
// links back.
func TestRecycledInvitationHasOtherLinks(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	n := authmgmt.NewInvitation{ID: "inv1", Email: "alan@example.com", Name: "Alan", FullAccess: true}
	first, err := r.ImportInvitation(t.Context(), "acme", full, n)
	require.NoError(t, err)
	require.NoError(t, r.CancelInvitation(t.Context(), "acme", full, "inv1"))
	r.advance(30 * 24 * time.Hour)
	pruned, err := r.Prune(t.Context(), authmgmt.Retention{Invitations: time.Hour})
	require.NoError(t, err)
	assert.Equal(t, 1, pruned)
	second, err := r.ImportInvitation(t.Context(), "acme", full, n)
	require.NoError(t, err)
	assert.NotEqual(t, r.link(&first), r.link(&second))
	_, err = r.InvitationByLink(t.Context(), r.link(&first))
	assert.Equal(t, mortise.ErrNotFound, err)
}

func TestCheckKey(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	require.NoError(t, r.CheckKey(t.Context()))
	require.NoError(t, r.CheckKey(t.Context()))
	other, err := authmgmt.New(authmgmt.Backend{Store: r.store}, withKey(otherKey))
	require.NoError(t, err)
	assert.Equal(t, authmgmt.ErrWrongKey, other.CheckKey(t.Context()))
	require.NoError(t, r.CheckKey(t.Context()), "a wrong key does not take the place of the right one")
	plain, err := authmgmt.New(authmgmt.Backend{Store: struct{ authmgmt.Store }{r.store}}, withKey(testKey))
	require.NoError(t, err)
	assert.ErrorIs(t, plain.CheckKey(t.Context()), errors.ErrUnsupported)
	keyless, err := authmgmt.New(authmgmt.Backend{Store: r.store}, nil)
	require.NoError(t, err)
	assert.ErrorIs(t, keyless.CheckKey(t.Context()), errors.ErrUnsupported)
}

var otherKey = mustKey("another one, not random, neither")

func withKey(key authmgmt.InvitationKey) *authmgmt.Options {
	return &authmgmt.Options{
		AcceptURL: "https://app.example.com/join/", InvitationKey: key, Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)},
		Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.Secret{}, nil
		},
	}
}

// A wrong key is refused by whatever needs one, before anything is changed; what needs
// none goes on.
func TestWrongKeyIsRefusedAtItsFirstUse(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com")
	before := len(r.trail(t, "acme"))
	for name, use := range map[string]func(ctx context.Context, s *authmgmt.Service) error{
		"invite": func(ctx context.Context, s *authmgmt.Service) error {
			_, err := s.Invite(ctx, "acme", full, authmgmt.NewInvitation{Email: "ada@example.com", Name: "Ada", FullAccess: true})
			return err
		},
		"import": func(ctx context.Context, s *authmgmt.Service) error {
			_, err := s.ImportInvitation(ctx, "acme", full, authmgmt.NewInvitation{Email: "ada@example.com", Name: "Ada", FullAccess: true})
			return err
		},
		"resend": func(ctx context.Context, s *authmgmt.Service) error {
			_, err := s.ResendInvitation(ctx, "acme", full, i.ID)
			return err
		},
		"accept": func(ctx context.Context, s *authmgmt.Service) error {
			_, _, err := s.Accept(ctx, r.link(&i), "")
			return err
		},
		"look": func(ctx context.Context, s *authmgmt.Service) error {
			_, err := s.InvitationByLink(ctx, r.link(&i))
			return err
		},
		"show the URL": func(ctx context.Context, s *authmgmt.Service) error {
			url, err := s.URL(ctx, &i)
			assert.Empty(t, url.Reveal())
			return err
		},
		"one turn": func(ctx context.Context, s *authmgmt.Service) error {
			_, err := s.RunOnce(ctx)
			return err
		},
		"run": func(ctx context.Context, s *authmgmt.Service) error { return s.Run(ctx) },
	} {
		s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, withKey(otherKey))
		require.NoError(t, err)
		for range 2 {
			assert.Equal(t, authmgmt.ErrWrongKey, use(t.Context(), s), name)
		}
		assert.Len(t, r.trail(t, "acme"), before, name)
		_, _, err = s.Login(t.Context(), "c", "s")
		assert.Equal(t, authmgmt.ErrInvalidCredentials, err, "it needs no key")
	}
	_, _, err := r.Accept(t.Context(), r.link(&i), "")
	assert.NoError(t, err, "the right key opens it still")
}

// That an invitation could not be resent for the key is observed like every other
// refusal.
func TestResendWithAWrongKeyIsObserved(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com")
	var seen []mortise.Observation
	opts := withKey(otherKey)
	opts.Observer = func(_ context.Context, o mortise.Observation) { seen = append(seen, o) }
	s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, opts)
	require.NoError(t, err)
	_, err = s.ResendInvitation(t.Context(), "acme", full, i.ID)
	require.Equal(t, authmgmt.ErrWrongKey, err)
	require.Len(t, seen, 1)
	assert.Equal(t, mortise.KindResent, seen[0].Kind)
	assert.Equal(t, i.ID, seen[0].Object)
	assert.Equal(t, authmgmt.ErrWrongKey, seen[0].Err)
}

// The store is asked until the key has proved right, and then no more.
func TestKeyIsCheckedOnce(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com")
	store := &countedKeyChecks{AuthMgmt: r.store, err: errors.New("connection refused")}
	s, err := authmgmt.New(authmgmt.Backend{Store: store}, withKey(testKey))
	require.NoError(t, err)
	for n := range 3 {
		_, err := s.URL(t.Context(), &i)
		assert.ErrorIs(t, err, mortise.ErrUnavailable)
		assert.Equal(t, n+1, store.count)
	}
	store.err = nil
	for range 3 {
		_, err := s.URL(t.Context(), &i)
		assert.NoError(t, err)
	}
	assert.Equal(t, 4, store.count)
}

type countedKeyChecks struct {
	*memory.AuthMgmt
	err   error
	count int
}

func (c *countedKeyChecks) UpdateKeyChecks(ctx context.Context, update func([][32]byte) ([][32]byte, error)) error {
	c.count++
	if c.err != nil {
		return c.err
	}
	return c.AuthMgmt.UpdateKeyChecks(ctx, update)
}

// Without invitations no key is needed, and nothing panics for lack of one.
func TestWithoutInvitationsNoKey(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com")
	link := r.link(&i)
	s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, &authmgmt.Options{
		Env: mortise.Env{Logger: slog.New(slog.DiscardHandler), Now: r.now},
		Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.Secret{}, errors.New("no")
		},
	})
	require.NoError(t, err)
	ctx := t.Context()
	c, secret, err := s.CreateClient(ctx, "acme", full, authmgmt.NewClient{Name: "n", Roles: roles("viewer")})
	require.NoError(t, err)
	_, _, err = s.Login(ctx, c.ID, secret.Reveal())
	require.NoError(t, err)
	_, err = s.Invitation(ctx, "acme", i.ID)
	require.NoError(t, err)
	_, err = s.URL(ctx, &i)
	assert.ErrorIs(t, err, errors.ErrUnsupported)
	_, _, err = s.Accept(ctx, link, "")
	assert.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, r.store.UpdateInvitation(ctx, "acme", i.ID, func(i *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
		i.AcceptedAt, i.AcceptedBy = r.now(), "alan" // while there were invitations
		return authmgmt.AuditEvent{}, nil
	}))
	_, err = s.RunOnce(ctx)
	require.NoError(t, err, "its grant fails, and is tried again")
}

func TestInvitationKeys(t *testing.T) {
	text := hex.EncodeToString([]byte(testKeyText))
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com")
	for name, text := range map[string]string{
		"hex": text, "as a file has it": text + "\n", "base64": base64.StdEncoding.EncodeToString([]byte(testKeyText)),
	} {
		key, err := authmgmt.ParseInvitationKey(text)
		require.NoError(t, err, name)
		assert.False(t, key.IsZero())
		s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, withKey(key))
		require.NoError(t, err)
		link, err := s.LinkToken(t.Context(), &i)
		require.NoError(t, err)
		assert.Equal(t, r.link(&i), link.Reveal(), name)
	}

	counted := make([]byte, 32)
	for i := range counted {
		counted[i] = byte(250 + 3*i)
	}
	for name, bad := range map[string][]byte{
		"none": nil, "short": []byte("short"), "long": make([]byte, 33), "zeros": make([]byte, 32), "one byte": bytes.Repeat([]byte{7}, 32),
		"nine bytes": bytes.Repeat([]byte("ninebytes-a"), 3)[:32], "counted": counted,
	} {
		key, err := authmgmt.NewInvitationKey(bad)
		require.ErrorContains(t, err, "authmgmt: an invitation key must", name)
		assert.True(t, key.IsZero())
		key, err = authmgmt.ParseInvitationKey(hex.EncodeToString(bad))
		require.ErrorContains(t, err, "authmgmt: an invitation key must", name)
		assert.True(t, key.IsZero())
	}
	_, err := authmgmt.ParseInvitationKey(text[:63])
	assert.NotContains(t, err.Error(), text[:8])

	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
	key, err := authmgmt.InvitationKeyFromFile(file)
	require.NoError(t, err)
	s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, withKey(key))
	require.NoError(t, err)
	link, err := s.LinkToken(t.Context(), &i)
	require.NoError(t, err)
	assert.Equal(t, r.link(&i), link.Reveal())
	key, err = authmgmt.InvitationKeyFromFile(file + "x")
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "authmgmt: the invitation key of "+file+"x cannot be read: ")
	assert.True(t, key.IsZero())
}

func TestNewRefuses(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	_, err := authmgmt.New(authmgmt.Backend{Store: nil}, nil)
	assert.Error(t, err)
	_, err = authmgmt.New(authmgmt.Backend{Store: r.store}, &authmgmt.Options{AcceptURL: "https://app.example.com/join/"})
	assert.ErrorContains(t, err, "InvitationKey")
	for _, o := range []authmgmt.Options{
		{InvitationLifetime: 30*24*time.Hour + 1},
		{SecretOverlap: 90*24*time.Hour + 1},
		{AcceptURL: "join/"}, {AcceptURL: "/join/"}, {AcceptURL: "ftp://example.com/"}, {AcceptURL: "https://"}, {AcceptURL: "https://user:word@example.com/"}, {AcceptURL: "https://%zz/"},
		{AcceptURL: "https://app.example.com"}, {AcceptURL: "https://app.example.com/join"}, {TokenCache: time.Minute + 1}, {GrantTimeout: time.Hour + 1},
	} {
		o.InvitationKey = testKey
		_, err := authmgmt.New(authmgmt.Backend{Store: r.store}, &o)
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
		if _, err := db.InvitationByLink(t.Context(), text); !errors.Is(err, mortise.ErrNotFound) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
