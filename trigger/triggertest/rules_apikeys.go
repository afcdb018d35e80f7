package triggertest

import (
	"crypto/sha256"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// newKey returns an API key of the organization, created at the moment.
func newKey(org string, created time.Duration) trigger.APIKey {
	id := uuid.New()
	return trigger.APIKey{ID: id, Organization: org, Name: "the build's \U0001F511", Digest: sha256.Sum256(id[:]), CreatedAt: moment(created)}
}

// addKey stores a key that must be new.
func (s *subject) addKey(t *testing.T, k trigger.APIKey) trigger.APIKey {
	t.Helper()
	require.NoError(t, s.Keys.CreateKey(t.Context(), k))
	return k
}

// keys returns all keys of an organization, on one page.
func (s *subject) keys(t *testing.T, org string) []trigger.APIKey {
	t.Helper()
	page, err := s.Keys.ListKeys(t.Context(), org, "", mortise.MaxPageSize)
	require.NoError(t, err)
	require.Empty(t, page.Next, "Next is set on a page of all keys")
	return page.Items
}

// hasKey requires that the key is stored as it is here.
func (s *subject) hasKey(t *testing.T, want trigger.APIKey) {
	t.Helper()
	got, err := s.Keys.KeyByDigest(t.Context(), want.Digest)
	require.NoError(t, err)
	sameKey(t, want, got)
}

// keyIDs returns the IDs of keys, in their order.
func keyIDs(keys []trigger.APIKey) []uuid.UUID {
	return conformance.Each(keys, func(x *trigger.APIKey) uuid.UUID { return x.ID })
}

func sameKey(t *testing.T, want, got trigger.APIKey) {
	t.Helper()
	conformance.SameTime(t, "CreatedAt", want.CreatedAt, &got.CreatedAt)
	conformance.SameTime(t, "RevokedAt", want.RevokedAt, &got.RevokedAt)
	conformance.SameTime(t, "LastUsedAt", want.LastUsedAt, &got.LastUsedAt)
	conformance.Same(t, want, got)
}

// apiKeyRules are the rules of Keys.
var apiKeyRules = []rule{
	{Rule{"keys/create-stores", "CreateKey stores a key, every field of it; KeyByDigest returns it."}, needKeys,
		func(t *testing.T, s *subject) {
			plain, filled := newKey(orgA, 0), newKey(orgB, time.Microsecond)
			plain.Name, filled.Name = "", longName+"1"
			filled.RevokedAt, filled.LastUsedAt = moment(time.Hour), moment(2*time.Microsecond)
			s.addKey(t, plain)
			s.addKey(t, filled)
			s.hasKey(t, plain)
			s.hasKey(t, filled)
		}},

	{Rule{"keys/longest", "Every text of a key comes back whole, as long as it can be."}, needKeys,
		func(t *testing.T, s *subject) {
			k := newKey(orgA, 0)
			mutate.Stretch(&k)
			s.addKey(t, k)
			s.hasKey(t, k)
			sameKey(t, k, s.keys(t, k.Organization)[0])
			short := s.addKey(t, newKey(orgB, 0))
			short.Name = k.Name
			require.NoError(t, s.Keys.UpdateKey(t.Context(), orgB, short.ID, func(left *trigger.APIKey) error {
				left.Name = k.Name
				return nil
			}))
			s.hasKey(t, short)
		}},

	{Rule{"keys/create-twice", "CreateKey returns ErrExists if there is a key with the digest, of whatever organization, and changes nothing."}, needKeys,
		func(t *testing.T, s *subject) {
			first := s.addKey(t, newKey(orgA, 0))
			for _, org := range []string{orgA, orgB} {
				second := newKey(org, time.Hour)
				second.Digest = first.Digest
				err := s.Keys.CreateKey(t.Context(), second)
				require.ErrorIs(t, err, mortise.ErrExists, "CreateKey with the digest of another key")
				s.hasKey(t, first)
			}
			keys := s.keys(t, orgB)
			require.Empty(t, keys, "keys of an organization that has none")
		}},

	{Rule{
		"keys/create-same-id",
		"CreateKey returns ErrExists if there is a key with the ID, of whatever " +
			"organization, and changes nothing.",
	}, needKeys,
		func(t *testing.T, s *subject) {
			first := s.addKey(t, newKey(orgA, 0))
			for _, org := range []string{orgA, orgB} {
				second := newKey(org, time.Hour)
				second.ID = first.ID
				err := s.Keys.CreateKey(t.Context(), second)
				require.ErrorIs(t, err, mortise.ErrExists, "CreateKey with the ID of another key")
				s.hasKey(t, first)
				_, err = s.Keys.KeyByDigest(t.Context(), second.Digest)
				require.ErrorIs(t, err, mortise.ErrNotFound, "KeyByDigest of a key that was refused")
			}
			keys := s.keys(t, orgB)
			require.Empty(t, keys, "keys of an organization whose only one was refused")
		}},

	{Rule{"keys/create-concurrent", "CreateKey is atomic: of many at once with one digest, one is stored and the others return ErrExists."}, needKeys,
		func(t *testing.T, s *subject) {
			const n = 16
			var keys [n]trigger.APIKey
			var errs [n]error
			for i := range keys {
				keys[i] = newKey([]string{orgA, orgB}[i%2], 0)
				keys[i].Digest = keys[0].Digest
			}
			conformance.Together(n, func(i int) { errs[i] = s.Keys.CreateKey(t.Context(), keys[i]) })
			winners := 0
			for i, err := range errs {
				if err == nil {
					winners++
					s.hasKey(t, keys[i])
				} else {
					require.ErrorIs(t, err, mortise.ErrExists)
				}
			}
			require.Equal(t, 1, winners, "keys stored by %d calls at once with one digest", n)
		}},

	{Rule{"keys/by-digest-unknown", "KeyByDigest returns ErrNotFound for a digest that no key has."}, needKeys,
		func(t *testing.T, s *subject) {
			k := s.addKey(t, newKey(orgA, 0))
			for _, i := range []int{0, 15, 31} {
				near := k.Digest
				near[i] ^= 1
				_, err := s.Keys.KeyByDigest(t.Context(), near)
				require.ErrorIs(t, err, mortise.ErrNotFound, "KeyByDigest, with one bit of byte %d changed", i)
			}
			_, err := s.Keys.KeyByDigest(t.Context(), [32]byte{})
			require.ErrorIs(t, err, mortise.ErrNotFound)
		}},

	{Rule{"keys/by-digest-revoked", "KeyByDigest returns a key, revoked or not."}, needKeys,
		func(t *testing.T, s *subject) {
			k := s.addKey(t, newKey(orgA, 0))
			require.NoError(t, s.Keys.UpdateKey(t.Context(), orgA, k.ID, func(k *trigger.APIKey) error {
				k.RevokedAt = moment(time.Hour)
				return nil
			}))
			k.RevokedAt = moment(time.Hour)
			s.hasKey(t, k)
			require.ErrorIs(t, s.Keys.CreateKey(t.Context(), k), mortise.ErrExists)
		}},

	{Rule{"keys/update-stores-what-it-leaves", "UpdateKey calls update with a copy and stores what it leaves; ID, Organization, Digest and CreatedAt cannot change."}, needKeys,
		func(t *testing.T, s *subject) {
			bystander := s.addKey(t, newKey(orgA, 0))
			k := s.addKey(t, newKey(orgA, 0))
			var seen trigger.APIKey
			var kept *trigger.APIKey
			require.NoError(t, s.Keys.UpdateKey(t.Context(), orgA, k.ID, func(k *trigger.APIKey) error {
				seen, kept = *k, k
				*k = newKey(orgB, time.Hour)
				k.Name, k.RevokedAt, k.LastUsedAt = "renamed", moment(time.Microsecond), moment(time.Hour)
				return nil
			}))
			sameKey(t, k, seen)
			kept.Name = "spoiled"
			k.Name, k.RevokedAt, k.LastUsedAt = "renamed", moment(time.Microsecond), moment(time.Hour)
			s.hasKey(t, k)
			s.hasKey(t, bystander)
			keys := s.keys(t, orgB)
			require.Empty(t, keys, "keys of an organization that has none")
		}},

	{Rule{"keys/update-error-changes-nothing", "An error from update leaves the key as it was and is returned so that errors.Is finds it."}, needKeys,
		func(t *testing.T, s *subject) {
			k := s.addKey(t, newKey(orgA, 0))
			refused := errors.New("refused")
			require.ErrorIs(t, s.Keys.UpdateKey(t.Context(), orgA, k.ID, func(k *trigger.APIKey) error {
				k.RevokedAt = moment(time.Hour)
				return refused
			}), refused)
			s.hasKey(t, k)
		}},

	{Rule{"keys/update-unknown", "UpdateKey of an unknown key, and of one of another organization, is ErrNotFound; update is not called."}, needKeys,
		func(t *testing.T, s *subject) {
			k := s.addKey(t, newKey(orgA, 0))
			called := false
			update := func(*trigger.APIKey) error { called = true; return nil }
			require.ErrorIs(t, s.Keys.UpdateKey(t.Context(), orgA, uuid.New(), update), mortise.ErrNotFound)
			require.ErrorIs(t, s.Keys.UpdateKey(t.Context(), orgB, k.ID, update), mortise.ErrNotFound)
			require.False(t, called, "update was called")
			s.hasKey(t, k)
		}},

	{Rule{"keys/update-concurrent", "UpdateKey is atomic: of concurrent updates none is lost."}, needKeys,
		func(t *testing.T, s *subject) {
			const workers, each = 8, 20
			k := newKey(orgA, 0)
			k.Name = ""
			s.addKey(t, k)
			more := func(k *trigger.APIKey) error {
				runtime.Gosched() // gives others the chance to come between
				k.Name += "."
				return nil
			}
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				for range each {
					if errs[i] = s.Keys.UpdateKey(t.Context(), orgA, k.ID, more); errs[i] != nil {
						return
					}
				}
			})
			conformance.NoErrors(t, errs[:])
			got, err := s.Keys.KeyByDigest(t.Context(), k.Digest)
			require.NoError(t, err)
			require.Len(t, got.Name, workers*each, "dots in the name, of which each update added one")
		}},

	{Rule{"keys/list-oldest-first", "ListKeys returns all keys of the organization, revoked ones included, oldest first."}, needKeys,
		func(t *testing.T, s *subject) {
			var want [5]trigger.APIKey
			for _, i := range []int{3, 0, 4, 1, 2} {
				want[i] = newKey(orgA, time.Duration(i)*time.Microsecond)
				if i%2 == 1 {
					want[i].RevokedAt = moment(time.Hour)
				}
				s.addKey(t, want[i])
			}
			other := s.addKey(t, newKey(orgB, 0))
			got := s.keys(t, orgA)
			inOrder(t, keyIDs(want[:]), keyIDs(got), "keys, the oldest first")
			for i := range got {
				sameKey(t, want[i], got[i])
			}
			got = s.keys(t, orgB)
			inOrder(t, []uuid.UUID{other.ID}, keyIDs(got), "keys of an organization that has one")
			sameKey(t, other, got[0])
			got = s.keys(t, "org-c")
			require.Empty(t, got, "keys of an organization that has none")
		}},

	{Rule{"keys/list-copies", "What ListKeys returns is the receiver's own."}, needKeys,
		func(t *testing.T, s *subject) {
			k := s.addKey(t, newKey(orgA, 0))
			keys := s.keys(t, orgA)
			require.Len(t, keys, 1, "keys of an organization that has one")
			keys[0].Name = "spoiled"
			again := s.keys(t, orgA)
			sameKey(t, k, again[0])
		}},
}
