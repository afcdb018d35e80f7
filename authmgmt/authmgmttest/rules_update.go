package authmgmttest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// errRefused is what update functions of the suite return.
var errRefused = errors.New("refused")

// thing is one kind of things that an update function changes. What is the same for all
// of them is tried on each.
type thing struct {
	group  string // of the rules
	method string
	needs  conformance.Need
	add    func(t *testing.T, s *subject) *added
}

// added is a thing of orgA that is stored.
type added struct {
	// update calls the method for the thing's ID, in an organization. touch changes the
	// thing, a little more with each call.
	update func(ctx context.Context, org string, f func(touch func()) (authmgmt.AuditEvent, error)) error
	// unknown calls the method for an ID that is not there; nil if there is no such ID.
	unknown func(ctx context.Context, f func() (authmgmt.AuditEvent, error)) error
	// touched returns how often touch has taken effect; of an organization, whether the
	// number is odd.
	touched func(t *testing.T) int
}

var things = []thing{
	{"clients", "UpdateClient", needStore, func(t *testing.T, s *subject) *added {
		c := s.addClient(t, filledClient(orgA, "build"))
		update := func(ctx context.Context, org, id string, f func(touch func()) (authmgmt.AuditEvent, error)) error {
			return s.Store.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				return f(func() {
					c.Name += "."
					if len(c.Roles) > 0 {
						c.Roles[0].ID += "."
					}
				})
			})
		}
		return &added{
			update: func(ctx context.Context, org string, f func(touch func()) (authmgmt.AuditEvent, error)) error {
				return update(ctx, org, "build", f)
			},
			unknown: func(ctx context.Context, f func() (authmgmt.AuditEvent, error)) error {
				return update(ctx, orgA, "unknown", func(func()) (authmgmt.AuditEvent, error) { return f() })
			},
			touched: func(t *testing.T) int {
				got := s.client(t, orgA, "build")
				n := len(got.Name) - len(c.Name)
				require.Len(t, got.Roles[0].ID, len(c.Roles[0].ID)+n, "half a change")
				return n
			},
		}
	}},

	{"tokens", "UpdateToken", needStore, func(t *testing.T, s *subject) *added {
		k := newToken(orgA, 0)
		k.RevokedAt = moment(0)
		s.addToken(t, k)
		update := func(ctx context.Context, org string, id uuid.UUID, f func(touch func()) (authmgmt.AuditEvent, error)) error {
			return s.Store.UpdateToken(ctx, org, id, func(k *authmgmt.Token) (authmgmt.AuditEvent, error) {
				return f(func() { k.RevokedAt = k.RevokedAt.Add(time.Microsecond) })
			})
		}
		return &added{
			update: func(ctx context.Context, org string, f func(touch func()) (authmgmt.AuditEvent, error)) error {
				return update(ctx, org, k.ID, f)
			},
			unknown: func(ctx context.Context, f func() (authmgmt.AuditEvent, error)) error {
				return update(ctx, orgA, uuid.New(), func(func()) (authmgmt.AuditEvent, error) { return f() })
			},
			touched: func(t *testing.T) int {
				got, err := s.Store.TokenByDigest(t.Context(), k.Digest)
				require.NoError(t, err)
				return int(got.RevokedAt.Sub(moment(0)) / time.Microsecond)
			},
		}
	}},

	{"invitations", "UpdateInvitation", needStore, func(t *testing.T, s *subject) *added {
		i := newInvitation(orgA, "ann", 0)
		i.Generation = 0
		s.addInvitation(t, i)
		update := func(ctx context.Context, org, id string, f func(touch func()) (authmgmt.AuditEvent, error)) error {
			return s.Store.UpdateInvitation(ctx, org, id, func(i *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
				return f(func() {
					i.GrantAttempts++
					i.Generation++
				})
			})
		}
		return &added{
			update: func(ctx context.Context, org string, f func(touch func()) (authmgmt.AuditEvent, error)) error {
				return update(ctx, org, "ann", f)
			},
			unknown: func(ctx context.Context, f func() (authmgmt.AuditEvent, error)) error {
				return update(ctx, orgA, "unknown", func(func()) (authmgmt.AuditEvent, error) { return f() })
			},
			touched: func(t *testing.T) int {
				got, err := s.Store.Invitation(t.Context(), orgA, "ann")
				require.NoError(t, err)
				require.EqualValues(t, got.Generation, got.GrantAttempts, "half a change")
				return got.GrantAttempts
			},
		}
	}},

	{"organizations", "UpdateOrganization", needOrganizations | needStore, func(t *testing.T, s *subject) *added {
		s.setRBAC(t, orgA, false)
		return &added{
			update: func(ctx context.Context, org string, f func(touch func()) (authmgmt.AuditEvent, error)) error {
				return s.Organizations.UpdateOrganization(ctx, org, func(o *authmgmt.Organization) (authmgmt.AuditEvent, error) {
					return f(func() { o.RBAC = !o.RBAC })
				})
			},
			touched: func(t *testing.T) int {
				o, err := s.Organizations.AccessControl(t.Context(), orgA)
				require.NoError(t, err)
				if o.RBAC {
					return 1
				}
				return 0
			},
		}
	}},
}

// updateRules are the rules that every update function has.
func updateRules() []rule {
	var rules []rule
	for _, x := range things {
		rules = append(rules,
			rule{Rule{x.group + "/update-stores-the-event", x.method + " stores the audit event that the function returns, together with the change, every field of it."}, x.needs, x.storesEvent},
			rule{Rule{x.group + "/update-without-event", "An event without ID is none: " + x.method + " stores the change alone."}, x.needs, x.withoutEvent},
			rule{Rule{x.group + "/update-error-changes-nothing", "An error of the function that " + x.method + " is given leaves everything as it was, stores no event, and is returned so that errors.Is finds it."}, x.needs, x.updateError},
			rule{Rule{x.group + "/update-panic", "A panic of the function that " + x.method + " is given goes on to the caller, leaves everything as it was, and the store usable."}, x.needs, x.updatePanic},
			rule{Rule{x.group + "/update-goexit", "A function that ends its goroutine (runtime.Goexit) leaves everything as it was, and the store usable; " + x.method + " does not return nil."}, x.needs, x.updateGoexit},
			rule{Rule{x.group + "/update-concurrent", x.method + " is atomic: of concurrent updates none is lost, nor its event."}, x.needs, x.updateConcurrent},
		)
		if x.needs&needOrganizations == 0 {
			rules = append(rules,
				rule{Rule{x.group + "/update-unknown", x.method + " of what is not there, or of another organization's, is ErrNotFound; the function is not called."}, x.needs, x.updateUnknown},
			)
		}
	}
	return rules
}

func (x *thing) storesEvent(t *testing.T, s *subject) {
	a := x.add(t, s)
	before := len(s.Trail(t, orgA))
	first, second := filledEvent(orgA, "first"), newEvent(orgA, mortise.KindTokenRevoked, "second", time.Hour)
	for _, e := range []authmgmt.AuditEvent{first, second} {
		require.NoError(t, a.update(t.Context(), orgA, func(touch func()) (authmgmt.AuditEvent, error) {
			touch()
			return e.Clone(), nil
		}))
		s.HasEvent(t, e)
	}
	s.HasEvent(t, first)
	require.Len(t, s.Trail(t, orgA), before+2)
	require.Empty(t, s.Trail(t, orgB))
}

func (x *thing) withoutEvent(t *testing.T, s *subject) {
	a := x.add(t, s)
	before := s.Trail(t, orgA)
	e := filledEvent(orgA, "none")
	e.ID = uuid.Nil
	for n, e := range []authmgmt.AuditEvent{{}, e} {
		was := a.touched(t)
		require.NoError(t, a.update(t.Context(), orgA, func(touch func()) (authmgmt.AuditEvent, error) {
			touch()
			return e, nil
		}))
		require.NotEqual(t, was, a.touched(t), "the change %d is stored", n)
		require.Equal(t, s.IDs(before), s.IDs(s.Trail(t, orgA)))
	}
	require.NoError(t, a.update(t.Context(), orgA, func(func()) (authmgmt.AuditEvent, error) { return authmgmt.AuditEvent{}, nil }))
	require.Equal(t, s.IDs(before), s.IDs(s.Trail(t, orgA)))
}

func (x *thing) updateError(t *testing.T, s *subject) {
	a := x.add(t, s)
	before := s.IDs(s.Trail(t, orgA))
	for _, cause := range []error{errRefused, fmt.Errorf("because: %w", errRefused), fmt.Errorf("%w: %w", authmgmt.ErrForbidden, errRefused)} {
		require.ErrorIs(t, a.update(t.Context(), orgA, func(touch func()) (authmgmt.AuditEvent, error) {
			touch()
			return newEvent(orgA, mortise.KindClientUpdated, "refused", 0), cause
		}), errRefused)
		require.Zero(t, a.touched(t), "changes")
		require.Equal(t, before, s.IDs(s.Trail(t, orgA)))
	}
	a.works(t)
}

// works requires that the thing can be changed.
func (a *added) works(t *testing.T) {
	t.Helper()
	require.NoError(t, a.update(t.Context(), orgA, func(touch func()) (authmgmt.AuditEvent, error) {
		touch()
		return authmgmt.AuditEvent{}, nil
	}))
	require.Equal(t, 1, a.touched(t), "changes")
}

func (x *thing) updatePanic(t *testing.T, s *subject) {
	a := x.add(t, s)
	before := s.IDs(s.Trail(t, orgA))
	const value = "of a rule of authmgmttest; nothing is wrong"
	require.PanicsWithValue(t, value, func() {
		_ = a.update(t.Context(), orgA, func(touch func()) (authmgmt.AuditEvent, error) {
			touch()
			panic(value)
		})
	})
	require.Zero(t, a.touched(t), "changes")
	require.Equal(t, before, s.IDs(s.Trail(t, orgA)))
	a.works(t)
	s.addClient(t, newClient(orgA, "another", 0))
}

func (x *thing) updateGoexit(t *testing.T, s *subject) {
	a := x.add(t, s)
	before := s.IDs(s.Trail(t, orgA))
	err := errRefused // what stays if the goroutine of the caller ends
	conformance.Together(1, func(int) {
		err = a.update(t.Context(), orgA, func(touch func()) (authmgmt.AuditEvent, error) {
			touch()
			runtime.Goexit()
			return authmgmt.AuditEvent{}, nil
		})
	})
	require.Error(t, err, "the update succeeded")
	require.Zero(t, a.touched(t), "changes")
	require.Equal(t, before, s.IDs(s.Trail(t, orgA)))
	a.works(t)
	s.addClient(t, newClient(orgA, "another", 0))
}

func (x *thing) updateConcurrent(t *testing.T, s *subject) {
	a := x.add(t, s)
	const workers, each = 50, 3
	before := len(s.Trail(t, orgA))
	events := make([]authmgmt.AuditEvent, workers*each)
	for i := range events {
		events[i] = newEvent(orgA, mortise.KindClientUpdated, "shared", time.Duration(i)*time.Microsecond)
	}
	var errs [workers]error
	conformance.Together(workers, func(i int) {
		for n := range each {
			errs[i] = a.update(t.Context(), orgA, func(touch func()) (authmgmt.AuditEvent, error) {
				runtime.Gosched() // gives others the chance to come between
				touch()
				return events[i*each+n], nil
			})
			if errs[i] != nil {
				return
			}
		}
	})
	conformance.NoErrors(t, errs[:])
	if x.needs&needOrganizations != 0 {
		require.Equal(t, workers*each%2, a.touched(t), "changes, modulo 2")
	} else {
		require.Equal(t, workers*each, a.touched(t), "changes")
	}
	trail := s.Trail(t, orgA)
	require.Len(t, trail, before+workers*each)
	stored := s.IDs(trail)
	for _, e := range events {
		require.True(t, slices.Contains(stored, e.ID), "an event was lost")
	}
}

func (x *thing) updateUnknown(t *testing.T, s *subject) {
	a := x.add(t, s)
	before := s.IDs(s.Trail(t, orgA))
	called := func() (authmgmt.AuditEvent, error) {
		t.Error("the function was called")
		return newEvent(orgA, mortise.KindClientUpdated, "unknown", 0), nil
	}
	require.ErrorIs(t, a.unknown(t.Context(), called), mortise.ErrNotFound)
	for _, org := range []string{orgB, "", "ORG-A"} {
		require.ErrorIs(t, a.update(t.Context(), org, func(touch func()) (authmgmt.AuditEvent, error) {
			touch()
			return called()
		}), mortise.ErrNotFound)
	}
	require.Zero(t, a.touched(t), "changes")
	require.Equal(t, before, s.IDs(s.Trail(t, orgA)))
	require.Empty(t, s.Trail(t, orgB))
}
