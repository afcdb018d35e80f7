package authmgmttest

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// errNotPending is what the losers of a race for an invitation return.
var errNotPending = errors.New("not pending")

// errNotAsRead is the error of the losers of a race of conditional updates.
var errNotAsRead = errors.New("not as it was read")

// errTwoWork is the error of the losers of a race for a rotation.
var errTwoWork = errors.New("two secrets work")

// concurrentRules are about calls of different methods, or of different callers, at once.
var concurrentRules = []rule{
	{Rule{"invitations/one-winner", "UpdateInvitation is atomic: of many that accept and cancel at once one wins, with its event, and the others see what it left."}, needStore,
		func(t *testing.T, s *subject) {
			for round := range 4 {
				i := s.addInvitation(t, newInvitation(orgA, fmt.Sprint("i", round), 0))
				before := len(s.Trail(t, orgA))
				var errs [50]error
				var events [50]authmgmt.AuditEvent
				for n := range events {
					kind := []mortise.Kind{mortise.KindAccepted, mortise.KindUninvited}[n%2]
					events[n] = newEvent(orgA, kind, i.ID, time.Hour)
				}
				conformance.Together(len(errs), func(n int) {
					errs[n] = s.Store.UpdateInvitation(t.Context(), orgA, i.ID, func(i *authmgmt.Invitation) (authmgmt.AuditEvent, error) {
						if i.State(moment(time.Hour)) != authmgmt.InvitationPending {
							return authmgmt.AuditEvent{}, errNotPending
						}
						if n%2 == 0 {
							i.AcceptedAt, i.AcceptedBy = moment(time.Hour), strconv.Itoa(n)
						} else {
							i.CancelledAt = moment(time.Hour)
						}
						return events[n], nil
					})
				})
				winner := conformance.OneWins(t, errs[:], errNotPending)
				if winner%2 == 0 {
					i.AcceptedAt, i.AcceptedBy = moment(time.Hour), strconv.Itoa(winner)
				} else {
					i.CancelledAt = moment(time.Hour)
				}
				s.hasInvitation(t, i)
				s.HasEvent(t, events[winner])
				require.Len(t, s.Trail(t, orgA), before+1)
			}
		}},

	{Rule{"clients/one-rotation", "UpdateClient is atomic: of many that rotate a client's only secret at once one wins, with its event, and both its secrets work."}, needStore,
		func(t *testing.T, s *subject) {
			service := s.service(t, authmgmt.Options{})
			for round := range 4 {
				c, first, err := service.CreateClient(t.Context(), orgA, root, authmgmt.NewClient{Name: "build", FullAccess: true})
				require.NoError(t, err)
				var errs [20]error
				var fresh [20]mortise.Secret
				conformance.Together(len(errs), func(n int) {
					_, fresh[n], errs[n] = service.RotateSecret(t.Context(), orgA, root, c.ID, time.Hour)
					if refused := new(mortise.ValidationError); errors.As(errs[n], &refused) {
						errs[n] = errTwoWork
					}
				})
				winner := conformance.OneWins(t, errs[:], errTwoWork)
				for _, secret := range []mortise.Secret{first, fresh[winner]} {
					_, _, err := service.Login(t.Context(), c.ID, secret.Reveal())
					require.NoError(t, err, "round %d", round)
				}
				page, err := s.Store.ListAuditEvents(t.Context(), orgA, authmgmt.AuditQuery{Target: c.ID, Kind: mortise.KindSecretRotated, Limit: 2})
				require.NoError(t, err)
				require.Len(t, page.Items, 1)
			}
		}},

	{Rule{"clients/one-conditional-update", "UpdateClient is atomic: of many that change a client only if it is as all of them read it, one wins, and no change is lost."}, needStore,
		func(t *testing.T, s *subject) {
			service := s.service(t, authmgmt.Options{})
			for round := range 4 {
				c, _, err := service.CreateClient(t.Context(), orgA, root, authmgmt.NewClient{Name: "build", FullAccess: true})
				require.NoError(t, err)
				var errs [20]error
				conformance.Together(len(errs), func(n int) {
					name := strconv.Itoa(n)
					_, errs[n] = service.UpdateClient(t.Context(), orgA, root, c.ID, authmgmt.ClientUpdate{Name: &name, If: func(now authmgmt.Client) error {
						if now.Name != c.Name {
							return errNotAsRead
						}
						return nil
					}})
				})
				winner := conformance.OneWins(t, errs[:], errNotAsRead)
				require.Equal(t, strconv.Itoa(winner), s.client(t, orgA, c.ID).Name, "round %d", round)
			}
		}},

	{Rule{"clients/digest-concurrent", "The digest of a secret is unique: of many clients that get one at once, new and changed ones, of two organizations, one has it, and the others get ErrExists."}, needStore,
		func(t *testing.T, s *subject) {
			const n = 40
			for i := range n {
				s.addClient(t, newClient([]string{orgA, orgB}[i/2%2], fmt.Sprint("old", i), 0))
			}
			shared := newSecret(0)
			var errs [n]error
			conformance.Together(n, func(i int) {
				org := []string{orgA, orgB}[i/2%2]
				if i%2 == 0 {
					c := newClient(org, fmt.Sprint("new", i), 0)
					c.Secrets = append(c.Secrets, shared)
					errs[i] = s.Store.CreateClient(t.Context(), c, newEvent(org, mortise.KindClientCreated, c.ID, 0))
					return
				}
				errs[i] = s.Store.UpdateClient(t.Context(), org, fmt.Sprint("old", i), func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
					c.Secrets = append(c.Secrets, shared)
					return newEvent(org, mortise.KindSecretRotated, c.ID, 0), nil
				})
			})
			winner := conformance.OneWins(t, errs[:], mortise.ErrExists)
			c, err := s.Store.ClientBySecret(t.Context(), shared.Digest)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint([]string{"new", "old"}[winner%2], winner), c.ID)
			total := len(s.listClients(t, orgA)) + len(s.listClients(t, orgB))
			require.Equal(t, n+1-winner%2, total, "clients")
		}},

	{Rule{"tokens/none-survives-its-secret", "A token that is stored while its secret is removed is refused, or gone with it."}, needStore,
		func(t *testing.T, s *subject) {
			for round := range 8 {
				c := s.addClient(t, newClient(orgA, fmt.Sprint("c", round), 0))
				var tokens [20]authmgmt.Token
				for i := range tokens {
					tokens[i] = clientToken(c, 0, 0)
				}
				var errs [20]error
				conformance.Together(len(tokens)+1, func(i int) {
					if i < len(tokens) {
						errs[i] = s.Store.CreateToken(t.Context(), tokens[i], newEvent(orgA, mortise.KindTokenIssued, "token", 0))
						return
					}
					if err := s.Store.UpdateClient(t.Context(), orgA, c.ID, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
						c.Secrets = nil
						return authmgmt.AuditEvent{}, nil
					}); err != nil {
						t.Error(err)
					}
				})
				for i, err := range errs {
					if err != nil {
						require.ErrorIs(t, err, mortise.ErrNotFound)
					}
					s.noToken(t, tokens[i])
				}
			}
		}},

	{Rule{"clients/reads-are-whole", "Another caller sees all of a change's effect or none: of a client with its secrets, of a change with its event."}, needStore,
		func(t *testing.T, s *subject) {
			c := newClient(orgA, "build", 0)
			c.Name = "1"
			s.addClient(t, c)
			conformance.Watch(t, 4, func(i int) error { return s.whole(t, i) }, 30, func(step int) {
				n := step + 2
				s.updateClient(t, c, func(c *authmgmt.Client) {
					c.Name = strconv.Itoa(n)
					c.Secrets = c.Secrets[:0]
					for range n % 7 {
						c.Secrets = append(c.Secrets, newSecret(0))
					}
				})
				s.addClient(t, newClient(orgA, fmt.Sprint("c", n), time.Hour))
			})
		}},
}

// whole returns an error if a read of the client of clients/reads-are-whole, in one of
// several ways, shows half a change.
func (s *subject) whole(t *testing.T, way int) error {
	trail, err := s.Store.ListAuditEvents(t.Context(), orgA, authmgmt.AuditQuery{Target: "build", Limit: mortise.MaxPageSize})
	if err != nil {
		return err
	}
	c, err := s.Store.Client(t.Context(), orgA, "build")
	if way%2 == 1 {
		var page mortise.Page[authmgmt.Client]
		page, err = s.Store.ListClients(t.Context(), orgA, "", mortise.MaxPageSize)
		if err == nil {
			c = page.Items[0]
		}
	}
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(c.Name)
	if err != nil {
		return err
	}
	if n > 1 && len(c.Secrets) != n%7 {
		return fmt.Errorf("half a client: the name of change %d and %d secrets", n, len(c.Secrets))
	}
	if len(trail.Items) > n {
		return fmt.Errorf("the event of change %d was there before the change", len(trail.Items))
	}
	return nil
}
