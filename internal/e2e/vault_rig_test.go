package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Paths of the vault.
const (
	vaultPath      = "/v1/vaults/v1"
	tokenizePath   = vaultPath + "/tokenize"
	detokenizePath = vaultPath + "/detokenize"
	personsPath    = vaultPath + "/persons"
	tokensPath     = vaultPath + "/tokens/"
)

// More access tokens of the document that writeVaults writes.
const (
	editorToken   = "at-acme-editors-00112233445566778899aabbccddee"
	viewerToken   = "at-acme-viewers-00112233445566778899aabbccddee"
	elsewhereUser = "at-acme-elsewhere-00112233445566778899aabbccd" // a viewer of the vault v2 alone
)

// personsTable is the table that writeVaults gives the vault v1, unless another one is
// wanted.
const personsTable = `{"name": "persons", "columns": [
	{"name": "email", "tokenization": "deterministic", "column_group": "emails", "format": "uuid"},
	{"name": "work", "tokenization": "deterministic", "column_group": "emails", "format": "uuid"},
	{"name": "card", "tokenization": "deterministic", "format": "digits:luhn,last4"},
	{"name": "name", "tokenization": "deterministic", "format": "prefix:name_"},
	{"name": "phone", "tokenization": "random", "mask": "0*2"},
	{"name": "note", "tokenization": "none"}]}`

// writeVaults writes a document with the vaults v1 and v2 of acme, and v1 of other, all
// with the same tables and records. The tokens that call it have all roles there are.
func writeVaults(t *testing.T, tables, records string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "vaults.json")
	vault := func(id string) string {
		return `{"id": "` + id + `",` + "\n" + `"tables": [` + tables + "],\n" + `"records": [` + records + `]}`
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"organizations": [{"id": "acme", "rbac_enabled": true, "access_tokens": [
		{"token": "`+rootToken+`", "subject": "root"},
		{"token": "`+adminToken+`", "subject": "admin", "roles": [{"role_id": "admin"}]},
		{"token": "`+editorToken+`", "subject": "editor", "roles": [{"role_id": "editor"}]},
		{"token": "`+viewerToken+`", "subject": "viewer", "roles": [{"role_id": "viewer"}]},
		{"token": "`+elsewhereUser+`", "subject": "elsewhere", "roles": [{"role_id": "viewer", "resource": "vault", "resource_instance": "v2"}]}],
		"vaults": [`+vault("v1")+", "+vault("v2")+`]},
	{"id": "other", "access_tokens": [{"token": "`+otherToken+`", "subject": "root"}], "vaults": [`+vault("v1")+`]}]}`), 0o600))
	return path
}

// vaultTokens are the access tokens of writeVaults.
func vaultTokens() []string {
	return []string{rootToken, adminToken, editorToken, viewerToken, elsewhereUser, otherToken}
}

// inGroup and inColumn ask for the token of a value.
func inGroup(group, value string) object { return object{"columnGroup": group, "value": value} }

func inColumn(column, value string) object {
	return object{"table": "persons", "column": column, "value": value}
}

func parameters(items ...object) object { return object{"tokenizationParameters": items} }

// tokenRecords is what a tokenization answers.
type tokenRecords struct{ Records []struct{ Token string } }

func (r tokenRecords) tokens() (all []string) {
	for _, record := range r.Records {
		all = append(all, record.Token)
	}
	return all
}

// tokenize asks for the tokens of values that are there.
func (s *server) tokenize(token string, items ...object) []string {
	s.t.Helper()
	tokens := ask[tokenRecords](s, http.StatusOK, "POST", tokenizePath, token, parameters(items...)).tokens()
	require.Len(s.t, tokens, len(items))
	return tokens
}

// insertedRecords is what an insertion answers.
type insertedRecords struct {
	Records []struct{ Tokens map[string]string }
}

// insert puts records into the table persons.
func (s *server) insert(token string, records ...object) (tokens []map[string]string) {
	s.t.Helper()
	var list []object
	for _, r := range records {
		list = append(list, object{"fields": r})
	}
	for _, r := range ask[insertedRecords](s, http.StatusOK, "POST", personsPath, token, object{"records": list}).Records {
		tokens = append(tokens, r.Tokens)
	}
	require.Len(s.t, tokens, len(records))
	return tokens
}

// shownValue is what a detokenization answers for a token.
type shownValue struct{ Token, Value, Redaction string }

// detokenize asks for the value of a token. A redaction of "" asks for none.
func (s *server) detokenize(token, of, redaction string) shownValue {
	s.t.Helper()
	item := object{"token": of}
	if redaction != "" {
		item["redaction"] = redaction
	}
	shown := ask[struct{ Records []shownValue }](s, http.StatusOK, "POST", detokenizePath, token, object{"detokenizationParameters": []object{item}})
	require.Len(s.t, shown.Records, 1)
	return shown.Records[0]
}

// vaultError is the error body of the vault.
type vaultError struct {
	GRPCCode   int    `json:"grpc_code"`
	HTTPCode   int    `json:"http_code"`
	HTTPStatus string `json:"http_status"`
	Message    string
	Details    []struct {
		Index  *int
		Field  string
		Reason string
	}
}

// vaultError checks the shape of an error, and returns it.
func (a answer) vaultError(t *testing.T, status, code int) (e vaultError) {
	t.Helper()
	require.Equal(t, status, a.status, a.body)
	var body map[string]map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(a.body), &body), a.body)
	assert.Len(t, body, 1, a.body)
	assert.Len(t, body["error"], 5, a.body)
	assert.True(t, strings.HasPrefix(string(body["error"]["details"]), "["), a.body)
	var typed struct{ Error vaultError }
	require.NoError(t, json.Unmarshal([]byte(a.body), &typed), a.body)
	e = typed.Error
	assert.Equal(t, code, e.GRPCCode, a.body)
	assert.Equal(t, status, e.HTTPCode, a.body)
	assert.Equal(t, http.StatusText(status), e.HTTPStatus, a.body)
	assert.NotEmpty(t, e.Message)
	assert.Equal(t, "application/json", a.header.Get("Content-Type"))
	assert.NotEmpty(t, a.header.Get("X-Request-Id"))
	return e
}

// vaultCaller calls the vault from many goroutines, each of which may lose its server.
type vaultCaller struct {
	http  *http.Client
	token string
}

func newVaultCaller(t *testing.T, clients int) *vaultCaller {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	t.Cleanup(transport.CloseIdleConnections)
	return &vaultCaller{&http.Client{Transport: transport}, rootToken}
}

// post sends a body and reads a 200's answer into v. A status of 0 means that no answer
// came.
func (c *vaultCaller) post(t testing.TB, address string, body object, v any) (status int, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(string(text)))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answered, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, fmt.Errorf("in the middle of an answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, fmt.Errorf("status %d: %s", resp.StatusCode, answered)
	}
	return resp.StatusCode, json.Unmarshal(answered, v)
}

// insert puts values into the column name of the table persons, and returns their tokens.
func (c *vaultCaller) insert(t testing.TB, url string, values []string) (tokens []string, status int, err error) {
	var records []object
	for _, value := range values {
		records = append(records, object{"fields": object{"name": value}})
	}
	var answered insertedRecords
	status, err = c.post(t, url+personsPath, object{"records": records}, &answered)
	if err != nil {
		return nil, status, err
	}
	for _, r := range answered.Records {
		tokens = append(tokens, r.Tokens["name"])
	}
	if len(tokens) != len(values) {
		return nil, status, fmt.Errorf("%d tokens for %d values", len(tokens), len(values))
	}
	return tokens, status, nil
}

// tokenize asks for the tokens of values of the column name.
func (c *vaultCaller) tokenize(t testing.TB, url string, values []string) (tokens []string, status int, err error) {
	var items []object
	for _, value := range values {
		items = append(items, inColumn("name", value))
	}
	var answered tokenRecords
	status, err = c.post(t, url+tokenizePath, parameters(items...), &answered)
	if tokens = answered.tokens(); err == nil && len(tokens) != len(values) {
		err = fmt.Errorf("%d tokens for %d values", len(tokens), len(values))
	}
	return tokens, status, err
}
