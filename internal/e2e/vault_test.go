package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVault drives the vault of the example server.
func TestVault(t *testing.T) {
	t.Parallel()
	p := buildServer(t)
	for name, test := range map[string]func(*testing.T, func(args ...string) *server){
		"errors":         testVaultErrors,
		"roles":          testVaultRoles,
		"life of values": testVaultValues,
		"same token":     testSameToken,
		"sandbox":        testVaultSandbox,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStorage(t, p, func(t *testing.T, start func(args ...string) *server) {
				test(t, func(args ...string) *server {
					s := start(args...)
					s.guard(vaultTokens()...)
					return s
				})
			})
		})
	}
	for name, test := range map[string]func(*testing.T, program){
		"sample document":      testSampleVault,
		"two servers":          testVaultOfTwoServers,
		"key":                  testVaultKey,
		"provisioning changed": testVaultProvisioningChanged,
		"provisioning refused": testVaultProvisioningRefused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// testSampleVault: what the contract's document puts into its vault has tokens, and the
// same ones at every start.
func testSampleVault(t *testing.T, p program) {
	sample, err := filepath.Abs(filepath.Join(root, "examples/server/testdata/acme.json"))
	require.NoError(t, err)
	dir := t.TempDir()
	var first []string
	for range 3 {
		s := p.startIn(t, dir, nil, "-config", sample)
		s.guard(secrets()...)
		s.guard("ada@example.com", "4111111111111111")
		tokens := s.tokenize(accessToken, inGroup("emails", "ada@example.com"), inColumn("email", "ada@example.com"), inColumn("card", "4111111111111111"), inGroup("emails", "ada@example.com"))
		if first == nil {
			first = tokens
			assert.Regexp(t, uuidForm, tokens[0])
			assert.Equal(t, tokens[0], tokens[1], "the group and its column")
			assert.Regexp(t, `^[0-9]{16}$`, tokens[2])
			assert.NotEqual(t, "4111111111111111", tokens[2])
			assert.Equal(t, tokens[0], tokens[3])
		}
		assert.Equal(t, first, tokens)
		assert.Equal(t, shownValue{first[2], "4111111111111111", "PLAIN_TEXT"}, s.detokenize(accessToken, first[2], ""))
		a := s.do("POST", tokenizePath, accessToken, `{"tokenizationParameters":[{"columnGroup":"emails","value":"Ada@example.com"}]}`)
		a.vaultError(t, http.StatusNotFound, 5)
		s.stop()
	}
}

// testVaultErrors: each status of the vault, as its callers see it. The domain's and the
// adapter's own tests have all that leads there.
func testVaultErrors(t *testing.T, start func(args ...string) *server) {
	const value = "ada@example.com"
	s := start("-config", writeVaults(t, personsTable, `{"table": "persons", "fields": {"email": "`+value+`"}}`))
	s.guard(value)
	many := func(n int) string {
		return `{"tokenizationParameters":[` + strings.TrimSuffix(strings.Repeat(`{"columnGroup":"emails","value":"`+value+`"},`, n), ",") + `]}`
	}
	item := func(members string) string {
		return `{"tokenizationParameters":[{"columnGroup":"emails","value":"` + value + `"},{` + members + `}]}`
	}
	for name, test := range map[string]struct {
		method, path, body string
		status, code       int
		reason             string
		index              int // -1 for none
	}{
		"no JSON":              {"POST", tokenizePath, `{`, 400, 3, "json_invalid", -1},
		"no list":              {"POST", tokenizePath, `{}`, 400, 3, "list_missing", -1},
		"empty list":           {"POST", tokenizePath, `{"tokenizationParameters":[]}`, 400, 3, "list_empty", -1},
		"1001 items":           {"POST", tokenizePath, many(1001), 400, 3, "list_too_long", -1},
		"no value":             {"POST", tokenizePath, item(`"columnGroup":"emails"`), 400, 3, "", 1},
		"no place":             {"POST", tokenizePath, item(`"value":"x"`), 400, 3, "", 1},
		"half a place":         {"POST", tokenizePath, item(`"value":"x","table":"persons"`), 400, 3, "", 1},
		"two places":           {"POST", tokenizePath, item(`"value":"x","table":"persons","column":"email","columnGroup":"emails"`), 400, 3, "", 1},
		"unknown group":        {"POST", tokenizePath, item(`"value":"x","columnGroup":"phones"`), 400, 3, "", 1},
		"value too long":       {"POST", tokenizePath, item(`"columnGroup":"emails","value":"` + strings.Repeat("x", 64<<10+1) + `"`), 400, 3, "", 1},
		"unknown vault":        {"POST", "/v1/vaults/v3/tokenize", many(1), 404, 5, "vault_not_found", -1},
		"unknown table":        {"POST", tokenizePath, item(`"value":"x","table":"people","column":"email"`), 404, 5, "", 1},
		"unknown column":       {"POST", tokenizePath, item(`"value":"x","table":"persons","column":"mail"`), 404, 5, "", 1},
		"unknown value":        {"POST", tokenizePath, item(`"value":"` + value + ` ","columnGroup":"emails"`), 404, 5, "value_not_found", 1},
		"random column":        {"POST", tokenizePath, item(`"value":"x","table":"persons","column":"phone"`), 422, 9, "", 1},
		"column for nothing":   {"POST", tokenizePath, item(`"value":"x","table":"persons","column":"note"`), 422, 9, "", 1},
		"insert for nothing":   {"POST", personsPath, `{"records":[{"fields":{"note":"` + value + `"}}]}`, 422, 9, "", 0},
		"insert in bad format": {"POST", personsPath, `{"records":[{"fields":{"email":"x"}},{"fields":{"card":"` + value + `"}}]}`, 422, 9, "", 1},
		"unknown token":        {"POST", detokenizePath, `{"detokenizationParameters":[{"token":"` + value + `"}]}`, 404, 5, "", 0},
		"token to delete":      {"DELETE", tokensPath + "nothing", "", 404, 5, "", -1},
		"method":               {"GET", tokenizePath, "", 405, 12, "", -1},
		"table in the way":     {"POST", "/v1/vaults/v1/people", `{"records":[{"fields":{"email":"` + value + `"}}]}`, 404, 5, "", 0},
		"path":                 {"POST", "/v1/vaults/v1/persons/email", `{}`, 404, 5, "", -1},
		"too large":            {"POST", tokenizePath, item(`"value":"` + strings.Repeat("x", 9<<20) + `"`), 413, 8, "", -1},
	} {
		a := s.do(test.method, test.path, rootToken, test.body)
		e := a.vaultError(t, test.status, test.code)
		if test.reason != "" && assert.NotEmpty(t, e.Details, name) {
			assert.Equal(t, test.reason, e.Details[0].Reason, name)
		}
		if test.index >= 0 && assert.Len(t, e.Details, 1, name) && assert.NotNil(t, e.Details[0].Index, name) {
			assert.Equal(t, test.index, *e.Details[0].Index, name)
		}
		assert.NotContains(t, a.body, value, "%s: the value is echoed", name)
	}
	s.do("POST", tokenizePath, rootToken, many(1), "Content-Type", "text/plain").vaultError(t, http.StatusUnsupportedMediaType, 3)
	for _, token := range []string{"", rootToken + "0", goodKey} {
		a := s.do("POST", tokenizePath, token, many(1))
		a.vaultError(t, http.StatusUnauthorized, 16)
		assert.Equal(t, challengeTo(token), a.header.Get("WWW-Authenticate"))
	}

	// A thousand items are answered in their order, and a request's ID comes back.
	a := s.do("POST", tokenizePath, rootToken, many(1000), "X-Request-Id", "mine-1")
	require.Equal(t, http.StatusOK, a.status)
	assert.Equal(t, 1000, strings.Count(a.body, s.tokenize(rootToken, inGroup("emails", value))[0]))
	assert.Equal(t, "mine-1", a.header.Get("X-Request-Id"))

	// What was refused has left nothing behind.
	s.do("POST", tokenizePath, rootToken, `{"tokenizationParameters":[{"columnGroup":"emails","value":"x"}]}`).vaultError(t, http.StatusNotFound, 5)
}

// testVaultRoles: who may do what. Nobody sees what is another organization's.
func testVaultRoles(t *testing.T, start func(args ...string) *server) {
	const email, card, phone = "ada@example.com", "4111111111111111", "+358 40 1234567"
	s := start("-config", writeVaults(t, personsTable, `{"table": "persons", "fields": {"email": "`+email+`", "card": "`+card+`"}}`))
	s.guard(email, card, phone)
	tokens := s.tokenize(viewerToken, inGroup("emails", email), inColumn("card", card))
	phoneToken := s.insert(editorToken, object{"phone": phone})[0]["phone"]
	insertion := `{"records":[{"fields":{"email":"new@example.com"}}]}`
	detokenization := func(redaction string) string {
		return `{"detokenizationParameters":[{"token":"` + tokens[1] + `","redaction":"` + redaction + `"}]}`
	}
	forbidden := func(token, method, path, body string) {
		t.Helper()
		s.do(method, path, token, body).vaultError(t, http.StatusForbidden, 7)
	}
	forbidden(viewerToken, "POST", personsPath, insertion)
	forbidden(viewerToken, "POST", detokenizePath, detokenization("REDACTED"))
	for _, token := range []string{viewerToken, editorToken} {
		forbidden(token, "DELETE", tokensPath+tokens[1], "")
	}
	forbidden(editorToken, "POST", detokenizePath, detokenization("PLAIN_TEXT"))
	forbidden(elsewhereUser, "POST", tokenizePath, `{"tokenizationParameters":[{"columnGroup":"emails","value":"`+email+`"}]}`)
	ask[tokenRecords](s, http.StatusOK, "POST", "/v1/vaults/v2/tokenize", elsewhereUser, parameters(inGroup("emails", email)))

	for _, redaction := range []string{"", "DEFAULT", "MASKED"} {
		assert.Equal(t, shownValue{tokens[1], "********1111", "MASKED"}, s.detokenize(editorToken, tokens[1], redaction))
	}
	assert.Equal(t, "********67", s.detokenize(editorToken, phoneToken, "").Value, "the column's own mask")
	assert.Equal(t, "*REDACTED*", s.detokenize(editorToken, tokens[1], "REDACTED").Value)
	for _, token := range []string{adminToken, rootToken} {
		assert.Equal(t, shownValue{tokens[0], email, "PLAIN_TEXT"}, s.detokenize(token, tokens[0], ""))
		assert.Equal(t, shownValue{phoneToken, phone, "PLAIN_TEXT"}, s.detokenize(token, phoneToken, "PLAIN_TEXT"))
		assert.Equal(t, "********1111", s.detokenize(token, tokens[1], "MASKED").Value)
	}

	// The same value has other tokens in another vault and in another organization, and
	// one of these is nothing here.
	inOther := ask[tokenRecords](s, http.StatusOK, "POST", tokenizePath, otherToken, parameters(inGroup("emails", email))).tokens()[0]
	inV2 := ask[tokenRecords](s, http.StatusOK, "POST", "/v1/vaults/v2/tokenize", adminToken, parameters(inGroup("emails", email))).tokens()[0]
	for _, token := range []string{inOther, inV2} {
		assert.NotEqual(t, tokens[0], token)
		s.do("POST", detokenizePath, adminToken, `{"detokenizationParameters":[{"token":"`+token+`"}]}`).vaultError(t, http.StatusNotFound, 5)
		s.do("DELETE", tokensPath+token, adminToken, "").vaultError(t, http.StatusNotFound, 5)
	}
	s.do("POST", "/v1/vaults/v2/tokenize", otherToken, `{"tokenizationParameters":[{"columnGroup":"emails","value":"x"}]}`).vaultError(t, http.StatusNotFound, 5)

	require.Equal(t, http.StatusOK, s.status("DELETE", tokensPath+tokens[0], adminToken))
	s.do("POST", tokenizePath, viewerToken, `{"tokenizationParameters":[{"columnGroup":"emails","value":"`+email+`"}]}`).vaultError(t, http.StatusNotFound, 5)
	assert.Equal(t, inOther, ask[tokenRecords](s, http.StatusOK, "POST", tokenizePath, otherToken, parameters(inGroup("emails", email))).tokens()[0])
}

// testVaultValues: values come, keep their tokens, and go.
func testVaultValues(t *testing.T, start func(args ...string) *server) {
	s := start("-config", writeVaults(t, personsTable, ""))
	// NFC and NFD, a surrogate pair, U+0000, a byte order mark, nothing at all: all of
	// these are values, and different ones.
	odd := []string{"\u00e9", "e\u0301", "\U0001F600", "\x00", "a\x00", "a", "", "\ufeff", " ", "\u2028", strings.Repeat("é", 32<<10), `\u00e9`}
	var records []object
	for _, value := range odd {
		records = append(records, object{"name": value, "phone": value})
	}
	inserted := s.insert(rootToken, records...)
	seen := make(map[string]string)
	for i, r := range inserted {
		for column, token := range r {
			require.Empty(t, seen[token], "%q and %q", odd[i], seen[token])
			seen[token] = odd[i]
			assert.Equal(t, odd[i], s.detokenize(rootToken, token, "PLAIN_TEXT").Value, column)
		}
		assert.Regexp(t, `^name_[a-z2-7]{26}$`, r["name"])
		assert.Regexp(t, uuidForm, r["phone"])
		assert.Equal(t, []string{r["name"]}, s.tokenize(rootToken, inColumn("name", odd[i])), "%q", odd[i])
	}
	for i, again := range s.insert(rootToken, records...) {
		assert.Equal(t, inserted[i]["name"], again["name"], "a deterministic value keeps its token")
		assert.NotEqual(t, inserted[i]["phone"], again["phone"], "a random one gets another")
	}

	// Columns of a group share their tokens, those of none do not.
	r := s.insert(rootToken, object{"email": "ada@example.com", "name": "ada@example.com"}, object{"work": "ada@example.com"})
	assert.Equal(t, r[0]["email"], r[1]["work"])
	assert.NotEqual(t, r[0]["email"], r[0]["name"])
	card := s.insert(rootToken, object{"card": "4111111111111111"})[0]["card"]
	assert.Regexp(t, `^[0-9]{12}1111$`, card)

	deleted := r[0]["email"]
	assert.JSONEq(t, `{"token":"`+deleted+`","deleted":true}`, s.do("DELETE", tokensPath+deleted, rootToken, "").body)
	s.do("DELETE", tokensPath+deleted, rootToken, "").vaultError(t, http.StatusNotFound, 5)
	s.do("POST", detokenizePath, rootToken, `{"detokenizationParameters":[{"token":"`+deleted+`"}]}`).vaultError(t, http.StatusNotFound, 5)
	s.do("POST", tokenizePath, rootToken, `{"tokenizationParameters":[{"columnGroup":"emails","value":"ada@example.com"}]}`).vaultError(t, http.StatusNotFound, 5)
	assert.Equal(t, r[0]["name"], s.tokenize(rootToken, inColumn("name", "ada@example.com"))[0])
	assert.NotEqual(t, deleted, s.insert(rootToken, object{"work": "ada@example.com"})[0]["work"])
}

// testSameToken asks for the token of one value ten thousand times.
func testSameToken(t *testing.T, start func(args ...string) *server) {
	const callers = 16
	each := 625
	s := start("-config", writeVaults(t, personsTable, ""))
	c := newVaultCaller(t, callers)
	first, _, err := c.insert(t, s.url, []string{"Ada"})
	require.NoError(t, err)
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for i := range each {
				call := c.tokenize
				if (caller+i)%10 == 0 {
					call = c.insert
				}
				tokens, _, err := call(t, s.url, []string{"Ada"})
				if err != nil || tokens[0] != first[0] {
					t.Errorf("%q, %v; want %q", tokens, err, first)
					return
				}
			}
		})
	}
	group.Wait()
}

// testVaultOfTwoServers: two servers on one folder are given the same new values at the
// same time, by many clients, in any order.
func testVaultOfTwoServers(t *testing.T, p program) {
	const values, clients = 500, 8
	dir, config := t.TempDir(), writeVaults(t, personsTable, "")
	servers := []*server{p.startIn(t, dir, nil, "-config", config), p.startIn(t, dir, nil, "-config", config)}
	c := newVaultCaller(t, 2*clients)
	all := make([]string, values)
	for i := range all {
		all[i] = fmt.Sprintf("value %d", i)
	}
	given := insertAtOnce(t, c, servers, clients, all)
	for _, s := range servers {
		tokens, _, err := c.tokenize(t, s.url, all)
		require.NoError(t, err)
		for i, token := range tokens {
			assert.Equal(t, map[string]bool{token: true}, given[all[i]], "the tokens of %s", all[i])
		}
	}
	// What one server changes counts on the other one at once.
	deleted := c.mustInsert(t, servers[0].url, "new")
	require.Equal(t, http.StatusOK, servers[1].status("DELETE", tokensPath+deleted, rootToken))
	_, status, _ := c.tokenize(t, servers[0].url, []string{"new"})
	assert.Equal(t, http.StatusNotFound, status)
	for _, s := range servers {
		s.stop()
	}
	usage := usageIn(t, dir)
	assert.Equal(t, values, usage.Rows)
	assert.Equal(t, map[int]int{1: values}, usage.Fingerprints)
}
