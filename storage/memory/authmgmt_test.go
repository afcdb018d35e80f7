package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// authMgmt is the harness of the domain's suites.
var authMgmt = authmgmttest.Harness{Open: func(t *testing.T) authmgmt.Backend {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db.AuthMgmt()
}}

func TestAuthMgmt(t *testing.T) { authmgmttest.Run(t, authMgmt) }

func TestAuthMgmtModel(t *testing.T) { authmgmttest.RunModel(t, authMgmt, nil) }
