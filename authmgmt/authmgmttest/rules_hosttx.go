package authmgmttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

var errNoMoney = errors.New("authmgmttest: no money")

// undo calls do in a transaction of the host's that is rolled back.
func (s *subject) undo(t *testing.T, do func(ctx context.Context)) {
	t.Helper()
	require.ErrorIs(t, s.h.InTx(t, s.Backend, func(ctx context.Context) error {
		do(ctx)
		return errNoMoney
	}), errNoMoney)
}

// service returns a service on the backend, as each process has one.
func (s *subject) service(t *testing.T, opts authmgmt.Options) *authmgmt.Service {
	t.Helper()
	key, err := authmgmt.NewInvitationKey([]byte("not random, and nobody's key !?>"))
	require.NoError(t, err)
	opts.AcceptURL, opts.InvitationKey = "https://app.example.com/join/", key
	service, err := authmgmt.New(authmgmt.Backend{Store: s.Store, Directory: s.Directory}, &opts)
	require.NoError(t, err)
	return service
}

var root = authmgmt.Caller{Actor: "ops", Access: access.Full()}

// hostTxRules are those of [mortise.HostTx]: what a service does with what the store tells it.
var hostTxRules = []rule{
	{Rule{"hosttx/tokens", "A token that was rolled back is refused, and so is one that was revoked in a transaction of the host's, from its commit on, also by a service that remembers tokens."}, needStore | needInTx,
		func(t *testing.T, s *subject) {
			ctx, service := t.Context(), s.service(t, authmgmt.Options{TokenCache: time.Minute})
			n := authmgmt.NewToken{Subject: "ann", FullAccess: true}
			var text string
			s.undo(t, func(ctx context.Context) {
				_, secret, err := service.IssueToken(ctx, orgA, root, n)
				require.NoError(t, err)
				text = secret.Reveal()
				_, err = service.VerifyToken(ctx, text)
				require.NoError(t, err)
			})
			_, err := service.VerifyToken(ctx, text)
			require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials, "a token works that was rolled back")

			token, secret, err := service.IssueToken(ctx, orgA, root, n)
			require.NoError(t, err)
			_, err = service.VerifyToken(ctx, secret.Reveal())
			require.NoError(t, err)
			require.NoError(t, s.h.InTx(t, s.Backend, func(within context.Context) error {
				require.NoError(t, service.RevokeToken(within, orgA, root, token.ID))
				_, err := service.VerifyToken(within, secret.Reveal())
				require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)
				_, err = service.VerifyToken(ctx, secret.Reveal())
				require.NoError(t, err, "it was revoked before the commit")
				return nil
			}))
			_, err = service.VerifyToken(ctx, secret.Reveal())
			require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials, "a token works that was revoked")
		}},

	{Rule{"hosttx/key-of-invitations", "The key of an invitation that was rolled back is noted with the first one that is stored."}, needStore | needKeyChecker | needInTx,
		func(t *testing.T, s *subject) {
			service := s.service(t, authmgmt.Options{})
			n := authmgmt.NewInvitation{Email: "ann@example.com", Name: "Ann", FullAccess: true}
			s.undo(t, func(ctx context.Context) {
				_, err := service.Invite(ctx, orgA, root, n)
				require.NoError(t, err)
			})
			_, err := service.Invite(t.Context(), orgA, root, n)
			require.NoError(t, err)
			require.NoError(t, s.updateKeyChecks(t.Context(), func(noted [][32]byte) ([][32]byte, error) {
				require.Len(t, noted, 1)
				return noted, nil
			}))
		}},

	{Rule{"hosttx/access-control", "An organization whose role-based access control was rolled back has none."}, needStore | needOrganizations | needInTx,
		func(t *testing.T, s *subject) {
			now := moment(0)
			service := s.service(t, authmgmt.Options{Env: mortise.Env{Now: func() time.Time { return now }}})
			n := authmgmt.NewClient{Name: "ci", Roles: []access.Role{{ID: "viewer"}}}
			s.undo(t, func(ctx context.Context) {
				require.NoError(t, service.SetRBAC(ctx, orgA, root, true))
				_, _, err := service.CreateClient(ctx, orgA, root, n)
				require.NoError(t, err)
			})
			_, _, err := service.CreateClient(t.Context(), orgA, root, n)
			require.ErrorIs(t, err, authmgmt.ErrRBACDisabled)
		}},

	{Rule{"hosttx/delivery", "An invitation that is made, or resent, in a transaction of the host's is delivered once that is committed, with a context that is not part of it, and never if it is rolled back."}, needStore | needInTx,
		func(t *testing.T, s *subject) {
			delivered := make(chan string, 10)
			service := s.service(t, authmgmt.Options{Deliver: func(ctx context.Context, i authmgmt.Invitation, _ mortise.Secret) error {
				_, err := s.Store.Invitation(ctx, orgA, i.ID) // which is there for all
				if err != nil {
					delivered <- err.Error()
				}
				delivered <- i.Email
				return err
			}})
			email := func(name string) authmgmt.NewInvitation {
				return authmgmt.NewInvitation{ID: name, Email: name + "@example.com", Name: name, FullAccess: true}
			}
			resend := func(ctx context.Context) {
				_, err := service.ResendInvitation(ctx, orgA, root, "ann")
				require.NoError(t, err)
			}
			s.undo(t, func(ctx context.Context) {
				_, err := service.Invite(ctx, orgA, root, email("rolled-back"))
				require.NoError(t, err)
			})
			commit := func(do func(ctx context.Context)) {
				require.NoError(t, s.h.InTx(t, s.Backend, func(ctx context.Context) error {
					do(ctx)
					require.Empty(t, delivered, "it was delivered before the commit")
					return nil
				}))
				require.Equal(t, "ann@example.com", conformance.Await(t, delivered, "the delivery of an invitation"))
			}
			commit(func(ctx context.Context) {
				_, err := service.Invite(ctx, orgA, root, email("ann"))
				require.NoError(t, err)
			})
			s.undo(t, resend)
			commit(resend)
			resend(t.Context())
			require.Equal(t, "ann@example.com", conformance.Await(t, delivered, "the delivery of an invitation"))
			require.Empty(t, delivered)
		}},

	{Rule{"hosttx/observer", "An Observer hears of a change in a transaction of the host's once that is committed, and never if it is rolled back."}, needStore | needInTx,
		func(t *testing.T, s *subject) {
			heard := make(chan string, 10)
			service := s.service(t, authmgmt.Options{Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) { heard <- o.Object }}})
			create := func(ctx context.Context, id string) {
				_, _, err := service.CreateClient(ctx, orgA, root, authmgmt.NewClient{ID: id, Name: id, FullAccess: true})
				require.NoError(t, err)
				require.Empty(t, heard, "it heard of a change before the commit")
			}
			s.undo(t, func(ctx context.Context) { create(ctx, "rolled-back") })
			require.NoError(t, s.h.InTx(t, s.Backend, func(ctx context.Context) error {
				create(ctx, "committed")
				return nil
			}))
			require.Equal(t, "committed", conformance.Await(t, heard, "the observation of a client"))
			require.Empty(t, heard)
		}},
}
