package authmgmttest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest/internal/delegate"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// Update functions.
type (
	clientUpdate       = func(*authmgmt.Client) (authmgmt.AuditEvent, error)
	organizationUpdate = func(*authmgmt.Organization) (authmgmt.AuditEvent, error)
	keyChecksUpdate    = func([][32]byte) ([][32]byte, error)
)

// mutant is the memory backend, whose methods can be replaced: each calls the one in on.
type mutant struct {
	AuthMgmt *memory.AuthMgmt // which stays faithful
	delegate.Backend
	broken  atomic.Bool // makes every method fail
	failure error       // what broken methods return

	mutate.Hosted
	after func(ctx context.Context, f func(context.Context)) bool // in place of AfterCommit
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{AuthMgmt: db.AuthMgmt().Store.(*memory.AuthMgmt), failure: errBroken}
	m.after = m.Hosted.AfterCommit
	mutate.Fill(&m.On, m.AuthMgmt)
	return m
}

// AfterCommit implements [mortise.HostTx].
func (m *mutant) AfterCommit(ctx context.Context, f func(context.Context)) bool {
	return m.after(ctx, f)
}

// inTx calls do in a transaction.
func (m *mutant) inTx(t *testing.T, do func(ctx context.Context) error) error {
	empty, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return m.InTx(t.Context(), m.AuthMgmt, empty.AuthMgmt().Store, do)
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() authmgmt.Backend {
	mutate.Around(&m.On, func(c *mutate.Call) {
		if m.broken.Load() {
			*c.Err() = m.failure
			return
		}
		m.Hosted.Go(c)
	})
	return authmgmt.Backend{Store: m, Directory: m}
}
