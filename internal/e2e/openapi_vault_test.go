package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenAPIOfVaultIsValid(t *testing.T) {
	require.NoError(t, newVaultAPI(t).described.Valid())
}

const (
	tokenizeAt   = "/v1/vaults/v1/tokenize"
	personsAt    = "/v1/vaults/v1/persons"
	detokenizeAt = "/v1/vaults/v1/detokenize"
	tokensAt     = "/v1/vaults/v1/tokens/"
)

func TestOpenAPIOfVaultHoldsForRealRequests(t *testing.T) {
	t.Parallel() // it waits for bodies that do not arrive
	r := newVaultAPI(t)
	token, odd := r.insert("email", "ada@example.com"), r.insert("note", "\xff")
	for _, list := range [][]exchange{r.tokenizations(), r.insertions(), r.detokenizations(token, odd), r.deletions(token)} {
		for _, x := range list {
			t.Run(x.operation+"/"+x.name, func(t *testing.T) {
				r.t = t
				r.run(x)
			})
		}
	}
	for operation, path := range map[string]string{"tokenize": tokenizeAt, "insertRecords": personsAt, "detokenize": detokenizeAt} {
		t.Run(operation+"/slow body", func(t *testing.T) {
			r.t = t
			r.slow(exchange{method: "POST", path: path, body: "{", operation: operation, status: http.StatusRequestTimeout})
		})
	}
	r.t = t
	r.requireEveryStatus()
}

func bearer(role string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + role}
}

// commonVault are the failures that all operations have, and those of all that take a body.
func commonVault(operation, method, path, body, broken string) []exchange {
	list := []exchange{
		{name: "no credentials", header: map[string]string{"Authorization": ""}, status: 401, undocumented: true},
		{name: "unknown token", header: bearer("unknown"), status: 401},
		{name: "forbidden", header: bearer("nobody"), status: 403},
		{name: "unknown vault", path: strings.Replace(path, "/vaults/v1/", "/vaults/none/", 1), status: 404},
		{name: "store down", broken: broken, status: 503},
		{name: "store corrupt", broken: storeCorrupt, status: 500},
	}
	for i := range list {
		list[i].body = body
	}
	if body != "" {
		list = append(list,
			exchange{name: "large", body: strings.TrimSuffix(body, "}") + `,"x":"` + strings.Repeat("a", 4096) + `"}`, status: 413, undocumented: true},
			exchange{name: "text", body: body, header: map[string]string{"Content-Type": "text/plain"}, status: 415, undocumented: true},
			exchange{name: "compressed", body: body, header: map[string]string{"Content-Encoding": "gzip"}, status: 415, undocumented: true},
			exchange{name: "no JSON", body: `{`, status: 400, undocumented: true},
			exchange{name: "list", body: `[]`, status: 400, undocumented: true},
			exchange{name: "nothing", body: `{}`, status: 400, undocumented: true},
			// ignored; the strict validator wants to know of it
			exchange{name: "unknown field", body: strings.TrimSuffix(body, "}") + `,"x":1}`, status: 200, undocumented: true},
			exchange{name: "own ID", body: body, header: map[string]string{"X-Request-Id": "build-1742"}, status: 200})
	}
	for i := range list {
		x := &list[i]
		x.operation, x.method = operation, method
		if x.path == "" {
			x.path = path
		}
	}
	return list
}

// posted are requests of one operation.
func posted(operation, path string, status int, undocumented bool, bodies map[string]string) []exchange {
	var list []exchange
	for name, body := range bodies {
		list = append(list, exchange{name: name, operation: operation, method: "POST", path: path, body: body, status: status, undocumented: undocumented})
	}
	return list
}

func (r *vaultAPI) tokenizations() []exchange {
	const operation, fine = "tokenize", `{"tokenizationParameters":[{"value":"ada@example.com","columnGroup":"emails"}]}`
	items := func(list string) string { return `{"tokenizationParameters":[` + list + `]}` }
	list := commonVault(operation, "POST", tokenizeAt, fine, "FindTokens")
	list = append(list, exchange{operation: operation, name: "too often", method: "POST", path: tokenizeAt, header: bearer("hasty"), body: fine, status: 429})
	list = append(list, posted(operation, tokenizeAt, 200, false, map[string]string{
		"group":   fine,
		"columns": items(`{"value":"ada@example.com","table":"persons","column":"email"},{"value":"ada@example.com","columnGroup":"emails"}`),
	})...)
	list = append(list, posted(operation, tokenizeAt, 400, true, map[string]string{
		"no list": `{"tokenizationParameters":{}}`, "empty": items(``), "no object": items(`7`), "number": items(`{"value":"a","columnGroup":7}`),
		"no value": items(`{"columnGroup":"emails"}`), "null value": items(`{"value":null,"columnGroup":"emails"}`), "no place": items(`{"value":"a"}`),
		"table": items(`{"value":"a","table":"persons"}`), "column": items(`{"value":"a","column":"email"}`),
		"both":             items(`{"value":"a","table":"persons","column":"email","columnGroup":"emails"}`),
		"group and table":  items(`{"value":"a","table":"persons","columnGroup":"emails"}`),
		"group and column": items(`{"value":"a","column":"email","columnGroup":"emails"}`),
	})...)
	list = append(list, posted(operation, tokenizeAt, 400, false, map[string]string{
		"unknown group": items(`{"value":"a","columnGroup":"none"}`),
	})...)
	list = append(list, posted(operation, tokenizeAt, 404, false, map[string]string{
		"unknown value": items(`{"value":"eve@example.com","columnGroup":"emails"}`), "unknown table": items(`{"value":"a","table":"none","column":"email"}`),
		"unknown column": items(`{"value":"a","table":"persons","column":"none"}`),
	})...)
	return append(list, posted(operation, tokenizeAt, 422, false, map[string]string{"random": items(`{"value":"a","table":"persons","column":"note"}`)})...)
}

func (r *vaultAPI) insertions() []exchange {
	const operation, fine = "insertRecords", `{"records":[{"fields":{"email":"bob@example.com","note":"x"}}]}`
	records := func(list string) string { return `{"records":[` + list + `]}` }
	list := commonVault(operation, "POST", personsAt, fine, "FindTokens")
	list = append(list, posted(operation, personsAt, 200, false, map[string]string{
		"tokens": fine, "explicitly": `{"records":[{"fields":{"note":""}},{"fields":{"note":""}}],"tokenization":true}`,
		"silent": `{"records":[{"fields":{"note":"x"}}],"tokenization":false}`,
	})...)
	list = append(list, posted(operation, personsAt, 400, true, map[string]string{
		"empty": records(``), "no fields": records(`{}`), "empty fields": records(`{"fields":{}}`), "null": records(`{"fields":{"note":null}}`),
		"list of fields": records(`{"fields":[]}`),
		"byot":           `{"records":[{"fields":{"note":"x"}}],"byot":"ENABLE"}`, "tokens": records(`{"fields":{"note":"x"},"tokens":{"note":"t"}}`),
		"upsert":       `{"records":[{"fields":{"note":"x"}}],"upsert":"note"}`,
		"tokenization": `{"records":[{"fields":{"note":"x"}}],"tokenization":null}`,
	})...)
	list = append(list, posted(operation, "/v1/vaults/v1/none", 404, false, map[string]string{"unknown table": fine})...)
	list = append(list, posted(operation, personsAt, 404, false, map[string]string{"unknown column": records(`{"fields":{"none":"x"}}`)})...)
	return append(list, posted(operation, personsAt, 422, false, map[string]string{
		"format": records(`{"fields":{"email":"nobody"}}`), "not tokenized": records(`{"fields":{"remark":"x"}}`),
	})...)
}

func (r *vaultAPI) detokenizations(token, odd string) []exchange {
	const operation = "detokenize"
	tokens := func(list string) string { return `{"detokenizationParameters":[` + list + `]}` }
	fine := tokens(`{"token":"` + token + `"}`)
	list := commonVault(operation, "POST", detokenizeAt, fine, "Rows")
	bodies := make(map[string]string)
	for _, redaction := range []string{"DEFAULT", "PLAIN_TEXT", "MASKED", "REDACTED"} {
		bodies[redaction] = tokens(`{"token":"` + token + `","redaction":"` + redaction + `"}`)
	}
	list = append(list, posted(operation, detokenizeAt, 200, false, bodies)...)
	list = append(list, posted(operation, detokenizeAt, 400, true, map[string]string{
		"empty": tokens(``), "no token": tokens(`{}`), "null token": tokens(`{"token":null}`), "redaction": tokens(`{"token":"a","redaction":"plain"}`),
		"null redaction": tokens(`{"token":"a","redaction":null}`), "continueOnError": strings.TrimSuffix(fine, "}") + `,"continueOnError":true}`,
	})...)
	list = append(list, posted(operation, detokenizeAt, 404, false, map[string]string{"unknown": tokens(`{"token":"none"}`), "empty token": tokens(`{"token":""}`)})...)
	list = append(list, posted(operation, detokenizeAt, 422, false, map[string]string{"no text": tokens(`{"token":"` + odd + `"}`)})...)
	return append(list,
		exchange{name: "masked", operation: operation, method: "POST", path: detokenizeAt, body: fine, header: bearer("editor"), status: 200},
		exchange{name: "too much", operation: operation, method: "POST", path: detokenizeAt, body: bodies["PLAIN_TEXT"], header: bearer("editor"), status: 403},
		exchange{name: "viewer", operation: operation, method: "POST", path: detokenizeAt, body: fine, header: bearer("viewer"), status: 403},
		exchange{name: "tampered", operation: operation, method: "POST", path: detokenizeAt, body: fine, broken: rowsTampered, status: 500})
}

func (r *vaultAPI) deletions(token string) []exchange {
	const operation = "deleteToken"
	return append(commonVault(operation, "DELETE", tokensAt+token, "", "Rows"),
		exchange{name: "one", operation: operation, method: "DELETE", path: tokensAt + token, status: 200},
		exchange{name: "again", operation: operation, method: "DELETE", path: tokensAt + token, status: 404})
}

// What belongs to no operation is answered with the examples that the document gives for it.
func TestOpenAPIOfVaultOutsideTheOperations(t *testing.T) {
	r := newVaultAPI(t)
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Examples []json.RawMessage }
		}
	}
	require.NoError(t, json.Unmarshal(r.document, &doc))
	described := doc.Components.Schemas["VaultErrorBody"].Examples
	require.Len(t, described, 2)
	require.JSONEq(t, string(described[0]), string(r.run(exchange{method: "GET", path: "/v1/vaults", status: 404, undocumented: true})))
	require.JSONEq(t, string(described[1]), string(r.run(exchange{method: "PUT", path: tokenizeAt, status: 405, undocumented: true})))
}
