package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/e2e/openapi"
)

// TestOpenAPIExamplesFollowTheirSchemas: whatever has a schema has an example, and every
// example of every document is one that its schema allows.
func TestOpenAPIExamplesFollowTheirSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		document []byte
		anything []string // fields whose names somebody chose
		least    int
	}{
		"trigger":     {newTriggerRig(t).document, []string{"$.body.context.**", "$.body.triggers[*].context.**", "$.body.outcome.data.**", "$.body.triggers[*].outcome.data.**"}, 25},
		"authmgmt":    {newAuthMgmtRig(t).document, nil, 60},
		"vault":       {newVaultAPI(t).document, []string{"$.body.records[*].fields.**", "$.body.records[*].tokens.**"}, 50},
		"audiosearch": {newSearchAPI(t).document, []string{"$.body.results[*].video.metadata.**"}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			seen, err := openapi.Examples(c.document, c.anything...)
			require.NoError(t, err)
			require.GreaterOrEqual(t, seen, c.least)
		})
	}
}
