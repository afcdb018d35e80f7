package httpadapter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// TestOpenAPIDescribesCommonHeaders: every answer of every file has an X-Request-Id,
// which every operation takes, too, and a 503 says when to try again.
func TestOpenAPIDescribesCommonHeaders(t *testing.T) {
	for _, name := range []string{"trigger", "authmgmt", "vault", "audiosearch"} {
		file, err := openapiFiles.ReadFile("openapi/" + name + ".json")
		require.NoError(t, err)
		root, err := strictjson.Parse(file, 0)
		require.NoError(t, err)
		for path, item := range at(root, "paths").Members() {
			for method, op := range item.Members() {
				var takes []string
				for _, p := range at(op, "parameters").Elements() {
					takes = append(takes, at(p, "$ref").Text())
				}
				require.Contains(t, takes, "#/components/parameters/RequestID", "%s %s", method.Text(), path.Text())
				for status, response := range at(op, "responses").Members() {
					response, _ = followRef(t, root, response)
					ref := func(header string) string { return at(response, "headers", header, "$ref").Text() }
					what := method.Text() + " " + path.Text() + " " + status.Text()
					require.Equal(t, "#/components/headers/RequestID", ref("X-Request-Id"), what)
					if status.Equal("503") {
						require.Equal(t, "#/components/headers/RetryAfter", ref("Retry-After"), what)
					}
				}
			}
		}
	}
}
