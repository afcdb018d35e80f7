package authmgmttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// stretches are offsets and limits to try on a listing of n.
func stretches(n int) []authmgmt.Paging {
	var all []authmgmt.Paging
	for _, offset := range []int{0, 1, 2, n - 1, n, n + 1, 10 * n} {
		for _, limit := range []int{1, 2, n - 1, n, n + 1, mortise.MaxPageSize} {
			all = append(all, authmgmt.Paging{Offset: offset, Limit: limit, Total: true})
		}
	}
	return all
}

// cut returns what a stretch shows of a listing.
func cut[T any](all []T, p authmgmt.Paging) []T {
	from := min(p.Offset, len(all))
	return append([]T{}, all[from:min(from+p.Limit, len(all))]...)
}

// byteOrder are IDs in the order of their bytes, which is not that of any language.
var byteOrder = []string{"\x00", "1", "10", "9", "B", "B ", "a", "a\x00", "aB", "ab", "b", "\u00e4", "\ufffd", "\U0001F4DA"}

// clientListRules are the rules of ListClients.
var clientListRules = []rule{
	{Rule{"clients/list-oldest-first", "ListClients returns clients oldest first, by CreatedAt, whatever the order in which they were stored or changed."}, needStore,
		func(t *testing.T, s *subject) {
			want := make([]authmgmt.Client, 5)
			for _, i := range []int{3, 0, 4, 1, 2} {
				want[i] = filledClient(orgA, fmt.Sprint("c", 9-i))
				want[i].CreatedAt = moment(time.Duration(i) * time.Microsecond)
				s.addClient(t, want[i])
			}
			s.updateClient(t, want[0], func(c *authmgmt.Client) { c.UpdatedAt = moment(time.Hour) })
			want[0].UpdatedAt = moment(time.Hour)
			page := s.listClients(t, orgA, everything)
			require.Equal(t, clientIDs(want), clientIDs(page.Items))
			for i := range want {
				sameClient(t, want[i], page.Items[i])
			}
		}},

	{Rule{"clients/list-equal-times-by-id", "ListClients orders equal times by ID, as bytes."}, needStore,
		func(t *testing.T, s *subject) {
			for i := range byteOrder {
				s.addClient(t, newClient(orgA, byteOrder[(i*5)%len(byteOrder)], 0))
			}
			require.Equal(t, byteOrder, clientIDs(s.listClients(t, orgA, everything).Items))
		}},

	{Rule{"clients/list-of-organization", "ListClients returns the organization's clients and no other's; none and a Total of 0 if there are none."}, needStore,
		func(t *testing.T, s *subject) {
			require.Zero(t, s.listClients(t, orgA, everything).Total)
			s.addClient(t, newClient(orgA, "a", 0))
			s.addClient(t, newClient(orgA, "b", 0))
			s.addClient(t, newClient(orgB, "c", 0))
			for org, want := range map[string][]string{orgA: {"a", "b"}, orgB: {"c"}, "org-c": {}, "": {}} {
				page := s.listClients(t, org, everything)
				require.Equal(t, want, clientIDs(page.Items))
				require.Equal(t, len(want), page.Total)
			}
		}},

	{Rule{"clients/list-offset-and-limit", "ListClients returns at most Limit clients from Offset on; Total counts the whole listing."}, needStore,
		func(t *testing.T, s *subject) {
			const n = 7
			for i := range n {
				s.addClient(t, newClient(orgA, fmt.Sprint("c", i), time.Duration(i/2)*time.Hour))
				s.addClient(t, newClient(orgB, fmt.Sprint("c", i), 0))
			}
			all := clientIDs(s.listClients(t, orgA, everything).Items)
			require.Len(t, all, n)
			for _, p := range stretches(n) {
				page := s.listClients(t, orgA, p)
				require.Equal(t, cut(all, p), clientIDs(page.Items), "%+v", p)
				require.Equal(t, n, page.Total, "%+v", p)
			}
		}},
}
