package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/e2e/openapi"
)

// TestOpenAPIExamplesFollowTheirSchemas: whatever has a schema has an example, and every
// example of every document is one that its schema allows.
func TestOpenAPIExamplesFollowTheirSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		document []byte
		least    int
	}{
		"trigger":     {newTriggerRig(t).document, 25},
		"authmgmt":    {newAuthMgmtRig(t).document, 60},
		"vault":       {newVaultAPI(t).document, 50},
		"audiosearch": {newSearchAPI(t).document, 30},
	} {
		t.Run(name, func(t *testing.T) {
			seen, err := openapi.Examples(c.document)
			require.NoError(t, err)
			require.GreaterOrEqual(t, seen, c.least)
		})
	}
}

// TestOpenAPIExamplesThatDoNot: one that its schema does not allow, and a schema without one,
// are told apart from the others.
func TestOpenAPIExamplesThatDoNot(t *testing.T) {
	document := func(parameter, example string) []byte {
		return fmt.Appendf(nil, `{"openapi":"3.1.0","info":{"title":"a","version":"1"},"paths":{"/":{"get":{`+
			`"parameters":[{"name":"p","in":"query","schema":{"type":"integer"}%s}],"responses":{"204":{"description":"b"}}}}},`+
			`"components":{"schemas":{"S":{"type":"object","properties":{"n":{"type":"integer"}},"examples":[%s]}}}}`, parameter, example)
	}
	seen, err := openapi.Examples(document(`,"example":1`, `{"n":1}`))
	require.NoError(t, err)
	require.Equal(t, 2, seen)
	_, err = openapi.Examples(document("", `{"n":1}`))
	require.ErrorContains(t, err, "get / p has no example")
	_, err = openapi.Examples(document(`,"example":"x"`, `{"n":1}`))
	require.ErrorContains(t, err, "get / p: it is not as described")
	for _, wrong := range []string{`{"n":"x"}`, `{"m":1}`} {
		_, err = openapi.Examples(document(`,"example":1`, wrong))
		require.ErrorContains(t, err, "S: ", wrong)
	}
}
