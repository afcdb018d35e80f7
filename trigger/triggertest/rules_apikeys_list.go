package triggertest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// numberedKey returns a key with the nth ID, in the order of bytes, created so many hours
// after the suite's first moment.
func numberedKey(org string, n byte, hours int) trigger.APIKey {
	k := newKey(org, time.Duration(hours)*time.Hour)
	k.ID = uuid.UUID{0: n, 14: 0x41, 15: org[len(org)-1]}
	return k
}

// keysBehind returns the keys that follow a position, of keys in the order of the
// listing.
func keysBehind(keys []trigger.APIKey, after mortise.Position) []trigger.APIKey {
	if after.IsZero() {
		return keys
	}
	i := 0
	for i < len(keys) && keys[i].Position().Compare(after) <= 0 {
		i++
	}
	return keys[i:]
}

// showsKeys requires that a page holds these keys, and that its Next is the place of the
// last of them if more follow.
func (s *subject) showsKeys(t *testing.T, want []trigger.APIKey, org string, q trigger.KeyQuery) mortise.Position {
	t.Helper()
	page, err := s.Keys.ListKeys(t.Context(), org, q)
	require.NoError(t, err)
	var next mortise.Position
	if len(want) > q.Limit {
		want = want[:q.Limit]
		next = want[q.Limit-1].Position()
	}
	inOrder(t, keyIDs(want), keyIDs(page.Items), "keys behind %v, at most %d", q.After, q.Limit)
	require.Equal(t, next, page.Next, "Next behind %v, at most %d", q.After, q.Limit)
	return page.Next
}

// someKeys stores keys of two organizations, three at each time, and returns those of the
// first one in the order of the listing.
func (s *subject) someKeys(t *testing.T) []trigger.APIKey {
	t.Helper()
	const n = 12
	keys := make([]trigger.APIKey, n)
	for i := range n {
		at := (i * 5) % n
		keys[at] = s.addKey(t, numberedKey(orgA, byte(at*21), at/3))
		s.addKey(t, numberedKey(orgB, byte(at*21), at/3))
	}
	return keys
}

// apiKeyListRules are the rules of ListKeys, cut into pages.
var apiKeyListRules = []rule{
	{Rule{"keys/list-equal-times-by-id", "ListKeys orders keys of one CreatedAt by ID, as bytes."}, needKeys,
		func(t *testing.T, s *subject) {
			want := s.someKeys(t)
			inOrder(t, keyIDs(want), keyIDs(s.keys(t, orgA)), "keys, those of one time by ID")
		}},

	{Rule{"keys/list-pages", "ListKeys neither repeats nor leaves out a key, whatever the limit; a page holds at most Limit keys, and Next is zero on the last one only."}, needKeys,
		func(t *testing.T, s *subject) {
			keys := s.someKeys(t)
			for limit := 1; limit <= len(keys)+1; limit++ {
				q := trigger.KeyQuery{Limit: limit}
				for read := 0; read < len(keys); read += limit {
					q.After = s.showsKeys(t, keys[read:], orgA, q)
				}
				require.True(t, q.After.IsZero(), "Next of the last page of %d", limit)
			}
		}},

	{Rule{"keys/list-pages-while-keys-come", "A page goes on behind its position, whatever came meanwhile, before it and behind it."}, needKeys,
		func(t *testing.T, s *subject) {
			var keys []trigger.APIKey
			add := func(k trigger.APIKey) {
				keys = append(keys, s.addKey(t, k))
				slices.SortFunc(keys, func(a, b trigger.APIKey) int { return a.Position().Compare(b.Position()) })
			}
			for n := 1; n <= 8; n++ {
				add(numberedKey(orgA, byte(100+n), 10*n))
			}
			q := trigger.KeyQuery{Limit: 2}
			for turn := range 3 {
				q.After = s.showsKeys(t, keysBehind(keys, q.After), orgA, q)
				hours := int(q.After.At.Sub(moment(0)) / time.Hour)
				low, high := byte(10*turn), byte(200+10*turn)
				add(numberedKey(orgA, low+1, 0))
				add(numberedKey(orgA, low+2, hours+5)) // which is the next one now
				add(numberedKey(orgA, low+3, hours))   // of the same time, on both sides
				add(numberedKey(orgA, high, hours))
				add(numberedKey(orgA, high+1, 100))
			}
			q.Limit = 100
			s.showsKeys(t, keysBehind(keys, q.After), orgA, q)
		}},

	{Rule{"keys/list-after-any-position", "ListKeys takes every position, also one where no key ever stood and one of another organization."}, needKeys,
		func(t *testing.T, s *subject) {
			keys := s.someKeys(t)
			id := keys[4].ID
			for _, after := range []mortise.Position{
				keys[4].Position(),
				{At: moment(-time.Hour), ID: uuid.Max}, {At: moment(100 * time.Hour)},
				{At: moment(time.Hour)}, {At: moment(time.Hour), ID: uuid.Max},
				{At: moment(time.Hour - time.Microsecond), ID: id}, {At: moment(time.Hour + time.Microsecond), ID: id},
				{At: moment(time.Hour).In(time.FixedZone("", 5*3600)), ID: id},
				{At: moment(time.Hour), ID: numberedKey(orgB, 4*21, 0).ID}, {ID: id}, {At: time.Unix(0, 0)},
			} {
				for _, limit := range []int{1, 3, 100} {
					s.showsKeys(t, keysBehind(keys, after), orgA, trigger.KeyQuery{After: after, Limit: limit})
				}
			}
		}},

	{Rule{"keys/list-limit-zero", "Limit 0, or less, selects no key: the page is empty and its Next is zero."}, needKeys,
		func(t *testing.T, s *subject) {
			keys := s.someKeys(t)
			for _, q := range []trigger.KeyQuery{{}, {Limit: -1}, {After: keys[4].Position()}} {
				page, err := s.Keys.ListKeys(t.Context(), orgA, q)
				require.NoError(t, err)
				require.Empty(t, page.Items, "keys on a page of Limit %d", q.Limit)
				require.True(t, page.Next.IsZero(), "Next is set after a page of Limit %d", q.Limit)
			}
		}},
}
