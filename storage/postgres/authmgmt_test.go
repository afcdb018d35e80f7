package postgres_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// authMgmt is the harness of the domain's suites.
func authMgmt(from func(testing.TB) *database) authmgmttest.Harness {
	type opened struct {
		db *postgres.DB
		d  *database
	}
	bases := make(map[any]opened)
	open := func(t *testing.T, d *database) authmgmt.Backend {
		db := d.open(t, nil)
		b := db.AuthMgmt()
		bases[b.Store] = opened{db, d}
		return b
	}
	return authmgmttest.Harness{
		Open: func(t *testing.T) authmgmt.Backend { return open(t, from(t)) },
		Reopen: func(t *testing.T, b authmgmt.Backend) authmgmt.Backend {
			require.NoError(t, bases[b.Store].db.Close())
			return open(t, bases[b.Store].d)
		},
		InTx: func(t *testing.T, b authmgmt.Backend, do func(context.Context) error) error {
			return inTx(t, bases[b.Store].d.pool(t), do)
		},
		Break: func(t *testing.T, b authmgmt.Backend) (heal func()) { return bases[b.Store].d.refuse(t) },
	}
}

func TestAuthMgmt(t *testing.T) {
	t.Parallel()
	authmgmttest.Run(t, authMgmt(newDatabase))
}

func TestAuthMgmtModel(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	authmgmttest.RunModel(t, authMgmt(newDatabase), &authmgmttest.ModelOptions{Sequences: 2})
}

func TestAuthMgmtModelExecMode(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	authmgmttest.RunModel(t, authMgmt(execDatabase), &authmgmttest.ModelOptions{Sequences: 2})
}
