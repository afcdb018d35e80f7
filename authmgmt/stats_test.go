package authmgmt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// TestStats: what a service counts is what its clock says.
func TestStats(t *testing.T) {
	refused := errors.New("not today")
	r := newRig(t, authmgmt.Options{Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) { return mortise.Secret{}, refused }})
	ctx := t.Context()
	c, secret := r.newClient(t)
	r.login(t, c.ID, secret)
	r.invite(t, "grace@example.com")
	i := r.invite(t, "alan@example.com")
	r.advance(time.Minute)
	accepted := r.now().Truncate(time.Microsecond)
	_, _, err := r.Accept(ctx, r.link(&i), "alan")
	require.ErrorIs(t, err, authmgmt.ErrGrantPending)

	one := mortise.Count{N: 1}
	want := authmgmt.Stats{Clients: one, Tokens: one, Pending: one, Waiting: one, OldestWaiting: accepted}
	stats, err := r.Stats(ctx, "acme")
	require.NoError(t, err)
	assert.Equal(t, want, stats)
	open, err := r.StatsAll(ctx)
	require.NoError(t, err)
	assert.Equal(t, authmgmt.AllStats{Waiting: one, OldestWaiting: accepted, NextDue: accepted.Add(5 * time.Second)}, open)

	r.advance(30 * 24 * time.Hour) // the token and the invitation have expired, the grant waits on
	want.Tokens, want.Pending = mortise.Count{}, mortise.Count{}
	stats, err = r.Stats(ctx, "acme")
	require.NoError(t, err)
	assert.Equal(t, want, stats)
	stats, err = r.Stats(ctx, "globex")
	require.NoError(t, err)
	assert.Zero(t, stats)
}

// statsStore notes how far it is asked to count, and fails.
type statsStore struct {
	authmgmt.Store
	most []int
}

func (s *statsStore) Stats(_ context.Context, _ string, _ time.Time, most int) (authmgmt.Stats, error) {
	s.most = append(s.most, most)
	return authmgmt.Stats{Clients: mortise.Count{N: 7}}, errors.New("disk on fire")
}

func (s *statsStore) StatsAll(_ context.Context, most int) (authmgmt.AllStats, error) {
	s.most = append(s.most, most)
	return authmgmt.AllStats{Waiting: mortise.Count{N: 7}}, errors.New("disk on fire")
}

func TestStatsOfABrokenStore(t *testing.T) {
	store := &statsStore{Store: newRig(t, authmgmt.Options{}).store}
	s, err := authmgmt.New(authmgmt.Backend{Store: store}, nil)
	require.NoError(t, err)
	stats, err := s.Stats(t.Context(), "acme")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	assert.Zero(t, stats)
	open, err := s.StatsAll(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	assert.Zero(t, open)
	assert.Equal(t, []int{mortise.MaxCount, mortise.MaxCount}, store.most)
}

// A dashboard shows how much there is; numbers that are large end in "+".
func ExampleService_Stats() {
	ctx := context.Background()
	s, _ := newExample(nil)
	for _, id := range []string{"ci", "deploy"} {
		_, _, err := s.CreateClient(ctx, "acme", operator, authmgmt.NewClient{ID: id, Name: id, FullAccess: true})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	stats, err := s.Stats(ctx, "acme")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stats.Clients, "clients,", stats.Tokens, "live tokens,", stats.Waiting, "grants wait")
	// Output: 2 clients, 0 live tokens, 0 grants wait
}
