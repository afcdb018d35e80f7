package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

// testVaultSandbox: the sandbox has the vaults of the document and nothing else of
// production, and both addresses are in the OpenAPI document.
func testVaultSandbox(t *testing.T, start func(args ...string) *server) {
	const email = "ada@example.com"
	s := start("-config", writeVaults(t, personsTable, `{"table": "persons", "fields": {"email": "`+email+`"}}`))
	production := s.tokenize(rootToken, inGroup("emails", email))

	const sandbox = "/sandbox"
	question := parameters(inGroup("emails", email))
	s.do("POST", sandbox+tokenizePath, rootToken, `{"tokenizationParameters":[{"columnGroup":"emails","value":"`+email+`"}]}`).vaultError(t, http.StatusNotFound, 5)
	s.do("POST", sandbox+tokenizePath, "", `{}`).vaultError(t, http.StatusUnauthorized, 16)
	inserted := ask[insertedRecords](s, http.StatusOK, "POST", sandbox+personsPath, editorToken,
		object{"records": []object{{"fields": object{"email": email}}}}).Records[0].Tokens["email"]
	assert.NotEqual(t, production[0], inserted)
	assert.Equal(t, []string{inserted}, ask[tokenRecords](s, http.StatusOK, "POST", sandbox+tokenizePath, viewerToken, question).tokens())
	assert.Equal(t, production, s.tokenize(rootToken, inGroup("emails", email)))
	for _, path := range []string{sandbox + detokenizePath, detokenizePath} {
		wrong := production[0]
		if path == detokenizePath {
			wrong = inserted
		}
		s.do("POST", path, rootToken, `{"detokenizationParameters":[{"token":"`+wrong+`"}]}`).vaultError(t, http.StatusNotFound, 5)
	}

	document := ask[struct {
		Paths map[string]struct {
			Servers []struct {
				URL       string
				Variables map[string]struct{ Default string }
			}
		}
	}](s, http.StatusOK, "GET", "/openapi.json", "", nil)
	servers := document.Paths["/v1/vaults/{vaultID}/tokenize"].Servers
	if assert.Len(t, servers, 2) {
		assert.Equal(t, "{vault_base_url}", servers[0].URL)
		assert.Equal(t, "{vault_sandbox_base_url}", servers[1].URL)
		assert.Equal(t, servers[0].Variables["vault_base_url"].Default+sandbox, servers[1].Variables["vault_sandbox_base_url"].Default)
	}
}
