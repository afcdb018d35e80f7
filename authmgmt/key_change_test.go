package authmgmt_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

var (
	nextKey  = mustKey("the next one, not random, either")
	thirdKey = mustKey("a third one, still no random one")
)

// with starts a server with these keys on the rig's store. The first key makes its links.
func (r *rig) with(t *testing.T, keys ...authmgmt.InvitationKey) *authmgmt.Service {
	t.Helper()
	opts := withKey(keys[0])
	opts.OtherInvitationKeys, opts.Now = keys[1:], r.now
	s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, opts)
	require.NoError(t, err)
	return s
}

// linkOf returns the token of the link that a service shows.
func linkOf(t *testing.T, s *authmgmt.Service, i *authmgmt.Invitation) string {
	t.Helper()
	token, err := s.LinkToken(t.Context(), i)
	require.NoError(t, err)
	return token.Reveal()
}

// opens reports whether a service opens a link.
func opens(t *testing.T, s *authmgmt.Service, link string) bool {
	t.Helper()
	_, err := s.InvitationByLink(t.Context(), link)
	if err != nil {
		require.Equal(t, mortise.ErrNotFound, err)
	}
	return err == nil
}

// Links of the key before open as long as they last, while a server makes those of the
// next one, and servers with one of the keys alone go on beside it.
func TestKeyIsChanged(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i, other := r.invite(t, "alan@example.com"), r.invite(t, "ada@example.com")
	before := r.link(&i)

	first := r.with(t, testKey, nextKey) // the next key goes round
	assert.Equal(t, before, linkOf(t, first, &i), "the other keys make no links")
	second := r.with(t, nextKey, testKey)
	after := linkOf(t, second, &i)
	assert.NotEqual(t, before, after)
	otherName, _, _ := strings.Cut(r.link(&other), ".")
	for name, c := range map[string]struct {
		s             *authmgmt.Service
		before, after bool
	}{
		"the key before alone": {r.Service, true, false},
		"first step":           {first, true, true},
		"second step":          {second, true, true},
		"third step":           {r.with(t, nextKey), false, true},
		"once more":            {r.with(t, thirdKey, nextKey), false, true},
		"two others":           {r.with(t, thirdKey, nextKey, testKey), true, true},
		"started anew":         {r.with(t, testKey), true, false},
	} {
		assert.NoError(t, c.s.CheckKey(t.Context()), name)
		assert.Equal(t, c.before, opens(t, c.s, before), name)
		assert.Equal(t, c.after, opens(t, c.s, after), name)
		for _, link := range []string{before, after} {
			_, secret, _ := strings.Cut(link, ".")
			assert.False(t, opens(t, c.s, otherName+"."+secret), "%s: of another invitation", name)
		}
	}

	accepted, _, err := second.Accept(t.Context(), before, "alan")
	require.NoError(t, err)
	assert.Equal(t, i.ID, accepted.ID)
	for _, link := range []string{before, after} {
		_, _, err := second.Accept(t.Context(), link, "eve")
		assert.Equal(t, mortise.ErrNotFound, err, "one invitation, by whichever link")
	}
	_, _, err = first.Accept(t.Context(), linkOf(t, second, &other), "ada")
	assert.NoError(t, err)
}

// What a server shows and sends after the change is made by the new key. A link of the
// old one ends as it would have: when it expires, and with a resend.
func TestLinksAfterTheKeyIsChanged(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i, late := r.invite(t, "alan@example.com"), r.invite(t, "late@example.com")
	var sent string
	opts := withKey(nextKey)
	opts.OtherInvitationKeys, opts.Now = []authmgmt.InvitationKey{testKey}, r.now
	opts.Deliver = func(_ context.Context, _ authmgmt.Invitation, url mortise.Secret) error {
		sent = url.Reveal()
		return nil
	}
	s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, opts)
	require.NoError(t, err)
	alone := r.with(t, nextKey)

	made, err := s.Invite(t.Context(), "acme", full, authmgmt.NewInvitation{Email: "ada@example.com", Name: "Ada", FullAccess: true})
	require.NoError(t, err)
	assert.Equal(t, "https://app.example.com/join/"+linkOf(t, alone, &made), sent)
	url, err := s.URL(t.Context(), &i)
	require.NoError(t, err)
	assert.Equal(t, "https://app.example.com/join/"+linkOf(t, alone, &i), url.Reveal())

	links := []string{r.link(&i), linkOf(t, alone, &i)}
	resent, err := s.ResendInvitation(t.Context(), "acme", full, i.ID)
	require.NoError(t, err)
	assert.Equal(t, "https://app.example.com/join/"+linkOf(t, alone, &resent), sent)
	for _, link := range links {
		assert.False(t, opens(t, s, link), "a resend ends the links before, under every key")
	}
	assert.True(t, opens(t, s, linkOf(t, alone, &resent)))

	r.advance(late.Lifetime - time.Second)
	assert.True(t, opens(t, s, r.link(&late)))
	r.advance(time.Second)
	assert.False(t, opens(t, s, r.link(&late)), "expired")
	_, _, err = s.Accept(t.Context(), r.link(&late), "")
	assert.Equal(t, mortise.ErrNotFound, err)
}

// A key is proved by one that is noted. Without one nothing is noted.
func TestUnknownKeysAreRefused(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	require.NoError(t, r.CheckKey(t.Context()))
	for range 2 {
		assert.Equal(t, authmgmt.ErrWrongKey, r.with(t, otherKey, nextKey).CheckKey(t.Context()))
		assert.Equal(t, authmgmt.ErrWrongKey, r.with(t, nextKey).CheckKey(t.Context()))
	}
	require.NoError(t, r.with(t, nextKey, otherKey, testKey).CheckKey(t.Context()))
	for _, key := range []authmgmt.InvitationKey{otherKey, nextKey, testKey} {
		assert.NoError(t, r.with(t, key).CheckKey(t.Context()))
	}
	assert.Equal(t, authmgmt.ErrWrongKey, r.with(t, thirdKey).CheckKey(t.Context()))

	fresh := newRig(t, authmgmt.Options{})
	require.NoError(t, fresh.with(t, nextKey, testKey).CheckKey(t.Context()))
	assert.NoError(t, fresh.CheckKey(t.Context()), "a new store notes all")
	assert.Equal(t, r.noted(t)[0], fresh.noted(t)[0], "the key that makes links is noted last")
}

// The links of a key that was stolen end as soon as it is left out. A service that serves
// nobody has introduced the new key.
func TestStolenKeyIsLeftOut(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	i := r.invite(t, "alan@example.com")
	s := r.with(t, nextKey)
	assert.Equal(t, authmgmt.ErrWrongKey, s.CheckKey(t.Context()))
	introduction, err := authmgmt.New(authmgmt.Backend{Store: r.store}, &authmgmt.Options{InvitationKey: nextKey, OtherInvitationKeys: []authmgmt.InvitationKey{testKey}})
	require.NoError(t, err)
	require.NoError(t, introduction.CheckKey(t.Context()))
	assert.False(t, opens(t, s, r.link(&i)))
	resent, err := s.ResendInvitation(t.Context(), "acme", full, i.ID)
	require.NoError(t, err)
	assert.True(t, opens(t, s, linkOf(t, s, &resent)))
}

// noted returns what the store has noted of the keys.
func (r *rig) noted(t *testing.T) (noted [][32]byte) {
	t.Helper()
	require.NoError(t, r.store.UpdateKeyChecks(t.Context(), func(stored [][32]byte) ([][32]byte, error) {
		noted = stored
		return stored, nil
	}))
	return noted
}

// Of many keys the store keeps the last 64, among them those of the service that asks.
func TestNotedKeysAreBounded(t *testing.T) {
	numbered := func(n int) authmgmt.InvitationKey {
		return mustKey(fmt.Sprintf("%03d, which is not a random number", n)[:32])
	}
	r := newRig(t, authmgmt.Options{})
	require.NoError(t, r.with(t, numbered(0)).CheckKey(t.Context()))
	for n := 1; n < 64; n++ {
		require.NoError(t, r.with(t, numbered(n), numbered(n-1)).CheckKey(t.Context()))
		require.Len(t, r.noted(t), n+1)
	}
	full := r.noted(t)
	require.NoError(t, r.with(t, numbered(3), numbered(5)).CheckKey(t.Context()))
	require.Equal(t, full, r.noted(t), "nothing is new")

	// The first two are among the service's own; so the third and the fourth make room.
	require.NoError(t, r.with(t, numbered(64), numbered(0), numbered(1), numbered(65)).CheckKey(t.Context()))
	noted := r.noted(t)
	require.Len(t, noted, 64)
	assert.Equal(t, full[:2], noted[:2])
	assert.Equal(t, full[4:], noted[2:62])
	for n := range 66 {
		err := r.with(t, numbered(n)).CheckKey(t.Context())
		if n == 2 || n == 3 {
			assert.Equal(t, authmgmt.ErrWrongKey, err, n)
		} else {
			assert.NoError(t, err, n)
		}
	}
	require.NoError(t, r.with(t, numbered(66), numbered(65)).CheckKey(t.Context()))
	assert.Equal(t, noted[1:], r.noted(t)[:63], "the one that was noted first makes room")
}

// An error of the host's that quotes a link is kept back, whichever key has made the
// link.
func TestNoErrorQuotesALinkOfAnyKey(t *testing.T) {
	for name, maker := range map[string]int{"the key": 0, "the first of the others": 1, "the last of the others": 2} {
		r := newRig(t, authmgmt.Options{})
		i := r.invite(t, "alan@example.com")
		keys := []authmgmt.InvitationKey{nextKey, thirdKey, testKey}
		link := ""
		opts := withKey(keys[0])
		opts.OtherInvitationKeys, opts.Now = keys[1:], r.now
		opts.Grant = func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.Secret{}, fmt.Errorf("Post https://mail.example.com/?link=%s: refused", link)
		}
		s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, opts)
		require.NoError(t, err)
		require.NoError(t, s.CheckKey(t.Context()))
		link = linkOf(t, r.with(t, keys[maker]), &i)
		_, _, err = s.Accept(t.Context(), link, "")
		require.ErrorIs(t, err, authmgmt.ErrGrantPending)
		_, secret, _ := strings.Cut(link, ".")
		assert.NotContains(t, err.Error(), secret, name)
		assert.ErrorContains(t, err, "it quotes the invitation's link", name)
	}
}

func TestNewRefusesKeys(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	var nine []authmgmt.InvitationKey
	for n := range 9 {
		nine = append(nine, mustKey(fmt.Sprintf("%d, which is not a random number at all", n)[:32]))
	}
	var none authmgmt.InvitationKey
	for want, keys := range map[string][]authmgmt.InvitationKey{
		"Options.OtherInvitationKeys needs Options.InvitationKey, the key that makes links":                   {none, testKey},
		"Options.OtherInvitationKeys[0] is the InvitationKey: leave it out of the others":                     {testKey, testKey},
		"Options.OtherInvitationKeys[2] is the same key as [1]: leave one of them out":                        {testKey, nextKey, otherKey, otherKey},
		"Options.OtherInvitationKeys[1] is no key: leave it out, or read one with ParseInvitationKey":         {testKey, nextKey, none},
		"Options.OtherInvitationKeys has 9 keys and can have 8: leave out those whose links have all expired": append([]authmgmt.InvitationKey{testKey}, nine...),
	} {
		for _, url := range []string{"", "https://app.example.com/join/"} {
			s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, &authmgmt.Options{AcceptURL: url, InvitationKey: keys[0], OtherInvitationKeys: keys[1:]})
			assert.EqualError(t, err, "authmgmt: "+want)
			assert.Nil(t, s)
		}
	}
	// The list is the caller's own: a later change of it changes nothing.
	i := r.invite(t, "alan@example.com")
	others := append([]authmgmt.InvitationKey{testKey}, nine[:7]...)
	opts := withKey(nextKey)
	opts.OtherInvitationKeys, opts.Now = others, r.now
	s, err := authmgmt.New(authmgmt.Backend{Store: r.store}, opts)
	require.NoError(t, err, "eight")
	clear(others)
	assert.NotPanics(t, func() { assert.True(t, opens(t, s, r.link(&i))) })
}

// A store that fails is not taken for one with other keys.
func TestKeyCheckFails(t *testing.T) {
	r := newRig(t, authmgmt.Options{})
	store := &countedKeyChecks{AuthMgmt: r.store, err: errors.New("connection refused")}
	s, err := authmgmt.New(authmgmt.Backend{Store: store}, withKey(testKey))
	require.NoError(t, err)
	err = s.CheckKey(t.Context())
	assert.ErrorIs(t, err, mortise.ErrUnavailable)
	assert.NotErrorIs(t, err, authmgmt.ErrWrongKey)
}
