package memory_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// authMgmt returns the harness of the domain's suites.
func authMgmt() authmgmttest.Harness {
	dbs := make(map[authmgmt.Store]*memory.DB)
	return authmgmttest.Harness{
		Open: func(t *testing.T) authmgmt.Backend {
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			b := db.AuthMgmt()
			dbs[b.Store] = db
			return b
		},
		InTx: func(t *testing.T, b authmgmt.Backend, do func(context.Context) error) error {
			return dbs[b.Store].InTx(t.Context(), do)
		},
	}
}

func TestAuthMgmt(t *testing.T) { authmgmttest.Run(t, authMgmt()) }

func TestAuthMgmtModel(t *testing.T) { authmgmttest.RunModel(t, authMgmt(), nil) }
