package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/authmgmtdb"
)

var (
	invitationKey = mustKey(invitationKeyText)
	root          = authmgmt.Caller{Actor: "root", Access: access.Full()}
)

// invitationKeyText is not random, and nobody's.
const invitationKeyText = "not random, and nobody's key !?>"

func mustKey(text string) authmgmt.InvitationKey {
	key, err := authmgmt.NewInvitationKey([]byte(text))
	if err != nil {
		panic(err)
	}
	return key
}

// TestTwoDatabasesInvite: two values of DB over one file, as two processes have them, of
// which several callers each ask for the same at once. One of all gets it.
func TestTwoDatabasesInvite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var granted atomic.Int64
	var services [2]*authmgmt.Service
	for i := range services {
		tables := openAt(t, path, nil).AuthMgmt().Store.(*authmgmtdb.Store)
		var err error
		services[i], err = authmgmt.New(authmgmt.Backend{Store: tables, Directory: tables}, &authmgmt.Options{
			AcceptURL: "https://app.example.com/join/", InvitationKey: invitationKey,
			Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
				granted.Add(1)
				return mortise.NewSecret("welcome"), nil
			},
		})
		require.NoError(t, err)
	}
	// race calls do from several goroutines for each service, and returns what those who
	// won have.
	race := func(do func(s *authmgmt.Service, n int) (authmgmt.Invitation, error), losers ...error) (winners []authmgmt.Invitation) {
		t.Helper()
		var wg sync.WaitGroup
		var mu sync.Mutex
		start := make(chan struct{})
		for n := range 8 {
			wg.Go(func() {
				<-start
				i, err := do(services[n%2], n)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					winners = append(winners, i)
				} else if !assert.Condition(t, func() bool {
					for _, loser := range losers {
						if errors.Is(err, loser) {
							return true
						}
					}
					return false
				}) {
					t.Log(err)
				}
			})
		}
		close(start)
		wg.Wait()
		return winners
	}
	const rounds = 20
	for round := range rounds {
		invited := race(func(s *authmgmt.Service, n int) (authmgmt.Invitation, error) {
			email := []string{"Ada%d@example.com", "ada%d@EXAMPLE.com"}[n/2%2]
			return s.Invite(t.Context(), "acme", root, authmgmt.NewInvitation{Email: fmt.Sprintf(email, round), Name: "Ada", FullAccess: true})
		}, authmgmt.ErrPendingInvitation)
		require.Len(t, invited, 1, "invitations of one address")
		link, err := services[0].LinkToken(t.Context(), &invited[0])
		require.NoError(t, err)
		accepted := race(func(s *authmgmt.Service, n int) (authmgmt.Invitation, error) {
			accepted, _, err := s.Accept(t.Context(), link.Reveal(), mortise.Actor(fmt.Sprint("person", n)))
			return accepted, err
		}, mortise.ErrNotFound, authmgmt.ErrGrantPending)
		require.Len(t, accepted, 1, "acceptances of one invitation")
		require.EqualValues(t, round+1, granted.Load())
		page, err := services[1].ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Target: invited[0].ID})
		require.NoError(t, err)
		require.Len(t, page.Items, 3, "created, accepted, granted")
		for _, e := range page.Items[:2] {
			require.EqualValues(t, accepted[0].AcceptedBy, e.Actor)
		}
	}
	page, err := services[0].ListAllInvitations(t.Context(), "acme", "", "", mortise.MaxPageSize)
	require.NoError(t, err)
	require.Len(t, page.Items, rounds)
}

// TestTwoDatabasesKeyCheck: of two that begin with different keys, one is told.
func TestTwoDatabasesKeyCheck(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "test.db")
		var wg sync.WaitGroup
		var errs [8]error
		start := make(chan struct{})
		for i := range errs {
			key := mustKey([]string{invitationKeyText, "another, not random, and nobody's"[:32]}[i%2])
			s, err := authmgmt.New(authmgmt.Backend{Store: openAt(t, path, nil).AuthMgmt().Store}, &authmgmt.Options{InvitationKey: key})
			require.NoError(t, err)
			wg.Go(func() {
				<-start
				errs[i] = s.CheckKey(t.Context())
			})
		}
		close(start)
		wg.Wait()
		wrong := 0
		for i, err := range errs {
			require.Equal(t, errs[i%2], err, "one key")
			if err != nil {
				require.ErrorIs(t, err, authmgmt.ErrWrongKey)
				wrong++
			}
		}
		require.Equal(t, 4, wrong)
	}
}
