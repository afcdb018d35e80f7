package authmgmt_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

func TestZeroAccessAllowsNothing(t *testing.T) {
	var none authmgmt.Access
	require.False(t, none.Full())
	for _, action := range []authmgmt.Action{authmgmt.ActionSubmitTrigger, authmgmt.ActionGetTrigger, authmgmt.ActionListTriggers, "anything"} {
		require.False(t, none.Allows(action, authmgmt.Resource{}), action)
		require.True(t, authmgmt.FullAccess().Allows(action, authmgmt.Resource{}), action)
	}
}

func ExampleAccess() {
	var stranger authmgmt.Access
	fmt.Println(stranger.Allows(authmgmt.ActionSubmitTrigger, authmgmt.Resource{}))
	fmt.Println(authmgmt.FullAccess().Allows(authmgmt.ActionSubmitTrigger, authmgmt.Resource{}))
	// Output:
	// false
	// true
}
