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

	inTx  func(ctx context.Context, do func(ctx context.Context) error) error
	after func(ctx context.Context, f func(context.Context)) bool // in place of AfterCommit
}

var errBroken = errors.New("disk on fire")

// newMutant returns a faithful mutant.
func newMutant(t *testing.T) *mutant {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	m := &mutant{AuthMgmt: db.AuthMgmt().Store.(*memory.AuthMgmt), failure: errBroken}
	m.inTx, m.after = db.InTx, m.AuthMgmt.AfterCommit
	mutate.Fill(&m.On, m.AuthMgmt)
	return m
}

// AfterCommit implements [mortise.HostTx].
func (m *mutant) AfterCommit(ctx context.Context, f func(context.Context)) bool {
	return m.after(ctx, f)
}

// backend returns the mutant as what the suite takes.
func (m *mutant) backend() authmgmt.Backend {
	mutate.Around(&m.On, func(c *mutate.Call) {
		if m.broken.Load() {
			*c.Err() = m.failure
			return
		}
		c.Go()
	})
	return authmgmt.Backend{Store: m, Directory: m}
}
