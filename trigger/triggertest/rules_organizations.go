package triggertest

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// setup writes an organization with n collections, the first of them ready, and returns
// it as it must be read.
func (s *subject) setup(t *testing.T, org string, n int) trigger.Organization {
	t.Helper()
	want := trigger.Organization{ID: org, SetupComplete: true}
	for i := range n {
		want.Collections = append(want.Collections, trigger.Collection{ID: uuid.New(), Ready: i == 0})
	}
	mine := want.Clone()
	require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), org, func(o *trigger.Organization) error {
		o.SetupComplete, o.Collections = true, mine.Collections
		return nil
	}))
	// What the backend was given is spoiled at once: it must have copied it.
	for i := range mine.Collections {
		mine.Collections[i] = trigger.Collection{}
	}
	slices.SortFunc(want.Collections, func(a, b trigger.Collection) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return want
}

// collectionIDs returns the IDs of collections, in their order.
func collectionIDs(collections []trigger.Collection) []uuid.UUID {
	return conformance.Each(collections, func(x *trigger.Collection) uuid.UUID { return x.ID })
}

// organization reads an organization that must be there.
func (s *subject) organization(t *testing.T, org string) trigger.Organization {
	t.Helper()
	o, err := s.Organizations.Setup(t.Context(), org)
	require.NoError(t, err)
	if len(o.Collections) == 0 {
		o.Collections = nil
	}
	return o
}

// hasOrganization requires that an organization is stored as it is here.
func (s *subject) hasOrganization(t *testing.T, want trigger.Organization, when string) {
	t.Helper()
	sameOrganization(t, want, s.organization(t, want.ID), when)
}

// sameOrganization compares the collections' order first, which it says in small numbers.
func sameOrganization(t *testing.T, want, got trigger.Organization, when string) {
	t.Helper()
	inOrder(t, collectionIDs(want.Collections), collectionIDs(got.Collections),
		"collections of %q %s", want.ID, when)
	require.Equal(t, want, got, "the organization %s", when)
}

// organizationRules are the rules of Directory and Organizations.
var organizationRules = []rule{
	{Rule{"organizations/unknown", "Setup returns ErrNotFound for an organization that was never written."}, needOrganizations,
		func(t *testing.T, s *subject) {
			_, err := s.Organizations.Setup(t.Context(), orgA)
			require.ErrorIs(t, err, mortise.ErrNotFound)
			s.setup(t, orgB, 1)
			_, err = s.Organizations.Setup(t.Context(), orgA)
			require.ErrorIs(t, err, mortise.ErrNotFound)
		}},

	{Rule{"organizations/not-made-by-events", "An organization that has only events was never written."}, needOrganizations | needStore,
		func(t *testing.T, s *subject) {
			s.create(t, plainEvent(orgA, 0))
			_, err := s.Organizations.Setup(t.Context(), orgA)
			require.ErrorIs(t, err, mortise.ErrNotFound)
		}},

	{Rule{"organizations/update-new", "UpdateOrganization calls update with a new organization that has only its ID if there is none, and stores what it leaves."}, needOrganizations,
		func(t *testing.T, s *subject) {
			var seen trigger.Organization
			require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), orgA, func(o *trigger.Organization) error {
				seen = o.Clone()
				return nil
			}))
			require.Equal(t, trigger.Organization{ID: orgA}, seen,
				"what update was given for a new organization")
			s.hasOrganization(t, trigger.Organization{ID: orgA}, "after an update that left it as it was")
		}},

	{Rule{"organizations/longest", "The ID of an organization comes back whole, as long as it can be."}, needOrganizations,
		func(t *testing.T, s *subject) {
			var o trigger.Organization
			mutate.Stretch(&o)
			require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), o.ID, func(stored *trigger.Organization) error {
				stored.SetupComplete = true
				return nil
			}))
			require.Equal(t, o.ID, s.organization(t, o.ID).ID)
		}},

	{Rule{"organizations/update-stores-what-it-leaves", "UpdateOrganization calls update with a copy of the organization and stores what it leaves."}, needOrganizations,
		func(t *testing.T, s *subject) {
			want := s.setup(t, orgA, 3)
			s.hasOrganization(t, want, "after it was set up")
			var seen trigger.Organization
			require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), orgA, func(o *trigger.Organization) error {
				seen = o.Clone()
				o.SetupComplete = false
				o.Collections = o.Collections[1:]
				o.SetCollection(want.Collections[2].ID, !want.Collections[2].Ready)
				return nil
			}))
			sameOrganization(t, want, seen, "as update was given it")
			want.SetupComplete = false
			want.Collections = want.Collections[1:]
			want.Collections[1].Ready = !want.Collections[1].Ready
			s.hasOrganization(t, want, "after an update")

			require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), orgA, func(o *trigger.Organization) error {
				o.Collections = nil
				return nil
			}))
			require.Empty(t, s.organization(t, orgA).Collections,
				"collections after an update that left none")
		}},

	{Rule{
		"organizations/collections-by-id",
		"UpdateOrganization stores Collections sorted by ID (as bytes), in whatever " +
			"order update leaves them.",
	}, needOrganizations,
		func(t *testing.T, s *subject) {
			var given []trigger.Collection
			for _, first := range []byte{0x80, 0x01, 0xff, 0x7f, 0x10, 0x00} {
				given = append(given, trigger.Collection{ID: uuid.UUID{0: first, 6: 0x40, 8: 0x80, 15: 1}})
			}
			var want []uuid.UUID
			for _, i := range []int{5, 1, 4, 3, 0, 2} {
				want = append(want, given[i].ID)
			}
			var seen []trigger.Collection
			for range 2 {
				err := s.Organizations.UpdateOrganization(t.Context(), orgA,
					func(o *trigger.Organization) error {
						seen = slices.Clone(o.Collections)
						o.Collections = slices.Clone(given)
						return nil
					})
				require.NoError(t, err)
				inOrder(t, want, collectionIDs(s.organization(t, orgA).Collections),
					"collections that Organization returns, by ID")
			}
			inOrder(t, want, collectionIDs(seen), "collections that update is given, by ID")
		}},

	{Rule{
		"organizations/update-keeps-id",
		"A change of the organization's ID by update is ignored.",
	}, needOrganizations,
		func(t *testing.T, s *subject) {
			for _, there := range []bool{false, true} {
				err := s.Organizations.UpdateOrganization(t.Context(), orgA,
					func(o *trigger.Organization) error {
						o.ID, o.SetupComplete = orgB, there
						return nil
					})
				require.NoError(t, err)
				want := trigger.Organization{ID: orgA, SetupComplete: there}
				s.hasOrganization(t, want, "after an update that changed its ID")
				_, err = s.Organizations.Setup(t.Context(), orgB)
				require.ErrorIs(t, err, mortise.ErrNotFound, "Organization of the ID that update left")
			}
		}},

	{Rule{"organizations/copies", "What Organization returns, and what update is given, are copies."}, needOrganizations,
		func(t *testing.T, s *subject) {
			want := s.setup(t, orgA, 2)
			s.organization(t, orgA).Collections[0] = trigger.Collection{}
			s.hasOrganization(t, want, "after a reader changed what Organization returned")
			var kept *trigger.Organization
			require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), orgA, func(o *trigger.Organization) error {
				kept = o
				return nil
			}))
			kept.SetupComplete = false
			kept.Collections[0] = trigger.Collection{}
			s.hasOrganization(t, want, "after update's argument was changed")
		}},

	{Rule{"organizations/update-error-changes-nothing", "An error from update changes nothing and is returned."}, needOrganizations,
		func(t *testing.T, s *subject) {
			want := s.setup(t, orgA, 2)
			refused := errors.New("refused")
			refuse := func(o *trigger.Organization) error {
				o.SetupComplete = false
				for i := range o.Collections {
					o.Collections[i] = trigger.Collection{}
				}
				return refused
			}
			require.ErrorIs(t, s.Organizations.UpdateOrganization(t.Context(), orgA, refuse), refused)
			s.hasOrganization(t, want, "after an update that failed")
			require.ErrorIs(t, s.Organizations.UpdateOrganization(t.Context(), orgB, refuse), refused)
			_, err := s.Organizations.Setup(t.Context(), orgB)
			require.ErrorIs(t, err, mortise.ErrNotFound)
		}},

	{Rule{"organizations/are-exact", "Organizations are the same if every byte is; updating one changes no other."}, needOrganizations,
		func(t *testing.T, s *subject) {
			want := make(map[string]trigger.Organization)
			for _, org := range exactNames {
				want[org] = s.setup(t, org, 1)
			}
			for _, org := range exactNames {
				s.hasOrganization(t, want[org], "among others with similar names")
			}
		}},

	{Rule{"organizations/update-concurrent", "UpdateOrganization is safe for concurrent use: no update is lost, that of a new organization included."}, needOrganizations,
		func(t *testing.T, s *subject) {
			const workers, each = 8, 10
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				for range each {
					id := uuid.New()
					if errs[i] = s.Organizations.UpdateOrganization(t.Context(), orgA, func(o *trigger.Organization) error {
						o.SetCollection(id, true)
						return nil
					}); errs[i] != nil {
						return
					}
				}
			})
			conformance.NoErrors(t, errs[:])
			require.Len(t, s.organization(t, orgA).Collections, workers*each,
				"collections, of which each update added one")
		}},

	{Rule{"organizations/reads-are-whole", "Setup returns setup state and collections in one consistent read."}, needOrganizations,
		func(t *testing.T, s *subject) {
			id := uuid.New()
			flip := func(o *trigger.Organization) error {
				o.SetupComplete = !o.SetupComplete
				o.SetCollection(id, o.SetupComplete)
				return nil
			}
			require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), orgA, flip))
			conformance.Watch(t, 4, func(int) error {
				o, err := s.Organizations.Setup(t.Context(), orgA)
				if err == nil && (len(o.Collections) != 1 || o.Collections[0].Ready != o.SetupComplete) {
					err = errors.New("setup state and collections are of different times")
				}
				return err
			}, 50, func(int) {
				require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), orgA, flip))
			})
		}},
}
