package httpadapter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// TestOpenAPISuitsGenerators: a generator of clients makes a type of each schema, parameter
// and response, in one package. So no two of them have one name, in whichever files, no
// schema has the name of a function that makes a client, and a list of types has one type
// besides null.
func TestOpenAPISuitsGenerators(t *testing.T) {
	kindOf := map[string]string{"NewClient": "the generated constructor", "NewClientWithResponses": "the generated constructor"}
	for _, name := range []string{"trigger", "authmgmt", "vault", "audiosearch"} {
		file, err := openapiFiles.ReadFile("openapi/" + name + ".json")
		require.NoError(t, err)
		root, err := strictjson.Parse(file, 0)
		require.NoError(t, err)
		for _, kind := range []string{"schemas", "parameters", "responses"} {
			for _, component := range keys(at(root, "components", kind)) {
				if other, taken := kindOf[component]; taken {
					require.Equal(t, kind, other, component)
				}
				kindOf[component] = kind
			}
		}
		requireOneType(t, root, name)
	}
}

// requireOneType looks at every list of types within v.
func requireOneType(t *testing.T, v strictjson.Value, where string) {
	t.Helper()
	for key, member := range v.Members() {
		if key.Equal("type") && member.Kind() == strictjson.Array {
			types := 0
			for _, one := range member.Elements() {
				if !one.Equal("null") {
					types++
				}
			}
			require.Equal(t, 1, types, where)
		}
		requireOneType(t, member, where+"/"+key.Text())
	}
	for _, item := range v.Elements() {
		requireOneType(t, item, where+"[]")
	}
}
