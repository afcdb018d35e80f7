package roletext_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/roletext"
)

// TestFormat: every byte of every part is kept, and a damaged text is never taken for no
// roles. The bytes that databases hold never change.
func TestFormat(t *testing.T) {
	odd := "a,b/c%2F\x00\xff ü+"
	for _, roles := range [][]access.Role{
		nil,
		{{}},
		{{}, {}},
		{{ID: "admin"}},
		{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}, {ID: "editor"}, {ID: "viewer", Resource: "dataset"}},
		{{ID: odd, Resource: access.ResourceType(odd), ResourceInstance: odd}, {ResourceInstance: odd}},
	} {
		got, err := roletext.Parse(roletext.Format(roles))
		require.NoError(t, err)
		require.Equal(t, roles, got, roletext.Format(roles))
	}
	require.Equal(t, "viewer/dataset/d1,editor//", roletext.Format([]access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}, {ID: "editor"}}))
	require.Equal(t, "a%2Fb%2Cc%25/%20/%00%FF", roletext.Format([]access.Role{{ID: "a/b,c%", Resource: " ", ResourceInstance: "\x00\xff"}}))
	for _, damaged := range []string{"admin", "admin/", "admin///", "admin//,", ",admin//", "%/x/", "//%2", " "} {
		_, err := roletext.Parse(damaged)
		require.ErrorIs(t, err, roletext.ErrDamaged, damaged)
	}
}
