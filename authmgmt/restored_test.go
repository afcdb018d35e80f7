package authmgmt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// A host keeps the largest number of revocations that it has seen outside of the database, and
// compares at its start.
func ExampleService_EndAccess() {
	ctx := context.Background()
	db, _ := memory.Open(ctx, nil) // a restored one has less in it than the host has seen

	service, err := authmgmt.New(db.AuthMgmt(), &authmgmt.Options{Env: mortise.Env{
		Observer: func(_ context.Context, o mortise.Observation) {
			if o.Err == nil && o.Kind.TakesAway() {
				fmt.Println("write the file anew") // with the result of service.Revocations
			}
		},
	}})
	if err != nil {
		panic(err)
	}
	now, err := service.Revocations(ctx)
	if err != nil {
		panic(err)
	}
	seen := mortise.Revocations{Database: now.Database, N: 7} // read from a file beside the keys
	if now.Database == seen.Database && now.N < seen.N {      // and the operator has agreed
		fmt.Println("restored; a revocation is in it:", !now.Last.IsZero())
		tokens, err := service.EndAccess(ctx, seen.N)
		fmt.Println("ended", tokens, "access tokens:", err)
	}
	now, err = service.Revocations(ctx)
	fmt.Println("goes on from", now.N, err)
	// Output:
	// restored; a revocation is in it: false
	// ended 0 access tokens: <nil>
	// goes on from 8 <nil>
}

// TestEndAccess: all access tokens end, of all organizations, and the number goes on from the one
// that was seen. A store that has no number is errors.ErrUnsupported.
func TestEndAccess(t *testing.T) {
	ctx := t.Context()
	db, err := memory.Open(ctx, nil)
	require.NoError(t, err)
	service, err := authmgmt.New(db.AuthMgmt(), nil)
	require.NoError(t, err)
	by := authmgmt.Caller{Actor: "ada", Access: access.Full()}
	var tokens []mortise.Secret
	for _, org := range []string{"acme", "other"} {
		_, text, err := service.IssueToken(ctx, org, by, authmgmt.NewToken{Subject: "x", FullAccess: true})
		require.NoError(t, err)
		tokens = append(tokens, text)
	}
	before, err := service.Revocations(ctx)
	require.NoError(t, err)
	n, err := service.EndAccess(ctx, before.N+5)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for _, text := range tokens {
		_, err := service.VerifyToken(ctx, text.Reveal())
		require.ErrorIs(t, err, authmgmt.ErrInvalidCredentials)
	}
	after, err := service.Revocations(ctx)
	require.NoError(t, err)
	require.Equal(t, before.N+6, after.N)

	plain, err := authmgmt.New(authmgmt.Backend{Store: struct{ authmgmt.Store }{db.AuthMgmt().Store}}, nil)
	require.NoError(t, err)
	_, err = plain.Revocations(ctx)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = plain.EndAccess(ctx, 1)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
