package turns

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoneIsPassedBy: a further call of an organization that has a place has its turn, however
// many organizations without a place come behind it.
func TestNoneIsPassedBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(4, 2) // as for 4 connections
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		require.NoError(t, s.Take(ctx, nil, "")) // maintenance, long
		running := []string{"o1", "o2", "o3"}
		for _, org := range running {
			require.NoError(t, s.Take(ctx, nil, org))
		}
		verified := false
		go func() { // VerifyToken, of whatever organization
			if s.Take(ctx, nil, "") == nil {
				verified = true
			}
		}()
		synctest.Wait()
		served := 0
		for n := range 1000 { // each a call of another organization, one behind the other
			org := fmt.Sprint("n", n)
			go func() { _ = s.Take(ctx, nil, org) }()
			synctest.Wait()
			s.Give(running[0])
			running = append(running[1:], org)
			synctest.Wait()
			if served++; verified {
				break
			}
		}
		assert.True(t, verified, "%d calls that came later were served before it", served)
	})
}
