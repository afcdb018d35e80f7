package httpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

var everyVaultOption = VaultOptions{Insert: true, Detokenize: true, Delete: true}

// tokenOfAda is the token that the document's examples have.
const tokenOfAda = "c1b5a4f0-6d0e-4f43-9d0a-6f1d0e8b7c44"

// tokensByValue are tokens that a test knows beforehand.
type tokensByValue struct {
	format.Standard
	tokens map[string]string
}

func (t *tokensByValue) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	results, err := t.Standard.Tokens(ctx, requests)
	for i := range results {
		if token, ok := t.tokens[requests[i].Value.Reveal()]; ok {
			results[i] = format.Result{Token: token}
		}
	}
	return results, err
}

// exampleStore is memory whose ciphertexts can be changed, and which can be corrupt as a
// whole.
type exampleStore struct {
	*exampleMemory
	tampered, corrupt bool
}

type exampleMemory = memory.Vault

func (s *exampleStore) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	rows, err := s.exampleMemory.Rows(ctx, org, id, tokens)
	if s.tampered {
		rows[0].Sealed.Ciphertext[0] ^= 1
	}
	if s.corrupt {
		err = keyring.ErrCorrupt
	}
	return rows, err
}

// describedVault is a vault with the values that the document's examples have.
func describedVault(t *testing.T, opts VaultOptions) (*Handler, *exampleStore) {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	store := &exampleStore{exampleMemory: db.Vault().Store.(*memory.Vault)}
	root, err := localkeys.NewRoot([]byte("a root key of the tests, 32 byte"))
	require.NoError(t, err)
	keys, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(t, err)
	tokenizer := &tokensByValue{tokens: map[string]string{"ada@example.com": tokenOfAda, "\xff": "odd"}}
	s, err := vault.New(vault.Backend{Store: store}, keys, &vault.Options{Tokenizer: tokenizer})
	require.NoError(t, err)
	_, err = s.CreateVault(t.Context(), "acme", "operator", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "email"}, {Name: "note", Tokenization: vault.Random}, {Name: "remark"},
	}}}})
	require.NoError(t, err)
	for column, value := range map[string]string{"email": "ada@example.com", "note": "\xff"} {
		_, err = s.Insert(t.Context(), "acme", "operator", "v1",
			[]vault.Item{{Place: vault.InColumn("persons", column), Value: vault.NewValue(value)}})
		require.NoError(t, err)
	}
	h, err := NewVault(s, Bearer(func(_ context.Context, role string) (Principal, error) {
		p := Principal{Organization: "acme", Subject: role, Access: access.Full()}
		if role != "full" {
			p.Access = access.DefaultCatalogue().Access(access.Role{ID: role})
		}
		return p, nil
	}), &opts)
	require.NoError(t, err)
	return h, store
}

func TestOpenAPIOfVaultDescribesWhatIsMounted(t *testing.T) {
	first, errors := []string{"TokenizationRequest", "TokenizationParameter", "TokenizationResponse", "TokenRecord"},
		[]string{"VaultErrorBody", "VaultError", "VaultErrorDetail"}
	insertion := []string{"InsertionRequest", "NewRecord", "InsertionResponse", "InsertedRecord"}
	detokenization := []string{"DetokenizationRequest", "DetokenizationParameter", "DetokenizationResponse", "RevealedRecord"}
	for name, c := range map[string]struct {
		opts    VaultOptions
		schemas []string
		ids     []string
	}{
		"as the spec has it": {VaultOptions{}, slices.Concat(first, errors), []string{"tokenize"}},
		"insert":             {VaultOptions{Insert: true}, slices.Concat(first, insertion, errors), []string{"tokenize", "insertRecords"}},
		"detokenize":         {VaultOptions{Detokenize: true}, slices.Concat(first, detokenization, errors), []string{"tokenize", "detokenize"}},
		"delete":             {VaultOptions{Delete: true}, slices.Concat(first, []string{"TokenDeletion"}, errors), []string{"tokenize", "deleteToken"}},
		"everything": {everyVaultOption, slices.Concat(first, insertion, detokenization, []string{"TokenDeletion"}, errors),
			[]string{"tokenize", "insertRecords", "detokenize", "deleteToken"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := describedVault(t, c.opts)
			root := parsedAuthMgmt(t, h)
			require.Equal(t, c.schemas, keys(at(root, "components", "schemas")))
			require.Equal(t, []string{"accessToken"}, keys(at(root, "components", "securitySchemes")))
			var ids []string
			for i, op := range describedOperations(root) {
				require.Equal(t, h.Routes()[i].Operation, Operation{"vault", op.ID, op.Method, op.Pattern})
				ids = append(ids, op.ID)
				described := at(root, "paths", op.Pattern, strings.ToLower(op.Method))
				require.JSONEq(t, `[{"accessToken":[]}]`, string(at(described, "security").Raw()))
				require.NotEmpty(t, at(described, "summary").Text())
				require.NotEmpty(t, at(described, "description").Text())
				for status, r := range at(described, "responses").Members() {
					r, _ = followRef(t, root, r)
					require.Equal(t, "#/components/headers/RequestID", at(r, "headers", requestIDHeader, "$ref").Text(), status.Text())
				}
			}
			require.Equal(t, c.ids, ids)
		})
	}
}

// A vault and its sandbox stand under their own addresses, beside services that have
// others.
func TestOpenAPIOfVaultServers(t *testing.T) {
	opts := everyVaultOption
	opts.ProductionURL, opts.SandboxURL = "https://vault.example.com/", "https://sandbox.vault.example.com/internal"
	production, _ := describedVault(t, opts)
	sandbox, _ := describedVault(t, everyVaultOption)
	const want = `[{"url":"{vault_base_url}","description":"Production",
			"variables":{"vault_base_url":{"default":"https://vault.example.com","description":"The base address of this host."}}},
		{"url":"{vault_sandbox_base_url}","description":"Sandbox: values, tokens and keys of its own",
			"variables":{"vault_sandbox_base_url":{"default":"https://sandbox.vault.example.com/internal","description":"The base address of this host."}}}]`
	for _, both := range [][]*Handler{{production, sandbox}, {sandbox, production}} {
		root := parsedAuthMgmt(t, append(both, describedTrigger(t, everyOption))...)
		for path, item := range at(root, "paths").Members() {
			if servers, own := item.Get("servers"); own {
				require.Contains(t, path.Text(), "/v1/vaults/")
				require.JSONEq(t, want, string(servers.Raw()))
				continue
			}
			require.Contains(t, path.Text(), "/triggers")
		}
	}
	opts.SandboxURL = ""
	alone, _ := describedVault(t, opts)
	servers := at(parsedAuthMgmt(t, alone), "paths", tokenizePath, "servers")
	require.NotContains(t, string(servers.Raw()), "andbox")
	require.Contains(t, string(servers.Raw()), "vault.example.com")
	// Without own addresses, the paths are under those of the document.
	_, own := at(parsedAuthMgmt(t, sandbox), "paths", tokenizePath).Get("servers")
	require.False(t, own)
}

// Every example of an error is what a request is answered with, and every reason is
// described.
func TestOpenAPIOfVaultErrorExamplesAreReal(t *testing.T) {
	h, store := describedVault(t, everyVaultOption)
	root := parsedAuthMgmt(t, h)
	const v1 = "/v1/vaults/v1"
	items := func(list string) string { return `{"tokenizationParameters":[` + list + `]}` }
	tokens := func(list string) string { return `{"detokenizationParameters":[` + list + `]}` }
	records := func(list string) string { return `{"records":[` + list + `]}` }
	const ada, eve = `{"value":"ada@example.com","columnGroup":"emails"}`, `{"value":"eve@example.com","columnGroup":"emails"}`
	seen := 0
	for _, c := range []struct {
		pattern, target, role, body string
		status                      int
		name                        string
		before                      func()
	}{
		{tokenizePath, v1 + "/tokenize", "full", items(`{"value":"a"},` + ada + `,{"value":"a","table":"persons"}`), 400, "place", nil},
		{tokenizePath, v1 + "/tokenize", "full", items(ada + `,{"value":7,"columnGroup":"emails"}`), 400, "type", nil},
		{tokenizePath, v1 + "/tokenize", "full", items(``), 400, "empty", nil},
		{tokenizePath, v1 + "/tokenize", "full", items(`{"value":"a","columnGroup":"mails"}`), 400, "group", nil},
		{tokenizePath, v1 + "/tokenize", "full", `{"tokenizationParameters": x}`, 400, "not_json", nil},
		{tokenizePath, v1 + "/tokenize", "full", items(eve + `,` + ada + `,` + eve), 404, "value", nil},
		{tokenizePath, v1 + "/tokenize", "full", items(`{"value":"a","table":"people","column":"a"},{"value":"a","table":"persons","column":"a"}`), 404, "table", nil},
		{tokenizePath, "/v1/vaults/v2/tokenize", "full", items(ada), 404, "vault", nil},
		{tokenizePath, v1 + "/tokenize", "full", items(`{"value":"a","table":"persons","column":"note"}`), 422, "", nil},
		{recordsPath, v1 + "/persons", "full", "", 400, "key", nil},
		{recordsPath, v1 + "/persons", "full", records(`{"fields":{"email":7}}`), 400, "type", nil},
		{recordsPath, v1 + "/persons", "full", records(`{},{"fields":{}}`), 400, "fields", nil},
		{recordsPath, v1 + "/persons", "full", `{"records":[{"fields":{"email":"ada@example.com"}}],"byot":"ENABLE"}`, 400, "unsupported", nil},
		{recordsPath, v1 + "/persons", "full", `{"records": x}`, 400, "not_json", nil},
		{recordsPath, v1 + "/persons", "full", records(`{"fields":{"mail":"a"}}`), 404, "column", nil},
		{recordsPath, v1 + "/people", "full", records(`{"fields":{"email":"a"}}`), 404, "table", nil},
		{recordsPath, "/v1/vaults/v2/persons", "full", records(`{"fields":{"email":"a"}}`), 404, "vault", nil},
		{recordsPath, v1 + "/persons", "full", records(`{"fields":{"email":"nobody"}}`), 422, "format", nil},
		{recordsPath, v1 + "/persons", "full", records(`{"fields":{"remark":"a"}}`), 422, "none", nil},
		{detokenizePath, v1 + "/detokenize", "full", tokens(`{},{"token":"a","redaction":"ALL"}`), 400, "items", nil},
		{detokenizePath, v1 + "/detokenize", "full", `{"detokenizationParameters":[{"token":"a"}],"continueOnError":true}`, 400, "unsupported", nil},
		{detokenizePath, v1 + "/detokenize", "full", `{"detokenizationParameters": x}`, 400, "not_json", nil},
		{detokenizePath, v1 + "/detokenize", "viewer", tokens(`{"token":"a"}`), 403, "operation", nil},
		{detokenizePath, v1 + "/detokenize", "editor", tokens(`{"token":"` + tokenOfAda + `","redaction":"PLAIN_TEXT"}`), 403, "redaction", nil},
		{detokenizePath, v1 + "/detokenize", "full", tokens(`{"token":"` + tokenOfAda + `"},{"token":"a"}`), 404, "token", nil},
		{detokenizePath, "/v1/vaults/v2/detokenize", "full", tokens(`{"token":"a"}`), 404, "vault", nil},
		{detokenizePath, v1 + "/detokenize", "full", tokens(`{"token":"odd"}`), 422, "", nil},
		{detokenizePath, v1 + "/detokenize", "full", tokens(`{"token":"` + tokenOfAda + `"}`), 500, "", func() { store.tampered = true }},
		{tokenPath, v1 + "/tokens/a", "full", "", 404, "token", func() { store.tampered = false }},
		{tokenPath, "/v1/vaults/v2/tokens/a", "full", "", 404, "vault", nil},
		{tokenPath, v1 + "/tokens/a", "full", "", 500, "", func() { store.corrupt = true }},
	} {
		if c.before != nil {
			c.before()
		}
		method := "POST"
		if c.pattern == tokenPath {
			method = "DELETE"
		}
		r := httptest.NewRequest(method, c.target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+c.role)
		if c.name == "key" {
			r.Header.Set("Idempotency-Key", "7")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, w.Body.String())
		resp, _ := followRef(t, root, at(root, "paths", c.pattern, strings.ToLower(method), "responses", strconv.Itoa(c.status)))
		media := at(resp, "content", "application/json")
		example := at(media, "example")
		if c.name != "" {
			example = at(media, "examples", c.name, "value")
		}
		require.JSONEq(t, string(example.Raw()), w.Body.String(), c.target+c.body)
		seen++
	}
	described := 0
	for _, item := range at(root, "paths").Members() {
		for _, op := range item.Members() {
			for status, r := range at(op, "responses").Members() {
				if _, ref := followRef(t, root, r); ref == "" && status.Text() >= "400" {
					described += len(describedExamples(t, root, at(r, "content"), ""))
				}
			}
		}
	}
	require.Equal(t, described, seen-1, "the 500 of deleteToken is one that operations share")
}

// The examples that operations share are what the table answers.
func TestOpenAPIOfVaultSharedErrorsAreTheTable(t *testing.T) {
	h, _ := describedVault(t, everyVaultOption)
	root := parsedAuthMgmt(t, h)
	for name, kind := range map[string]kind{
		"VaultUnauthorized": unauthenticated, "VaultForbidden": forbidden, "VaultTimeout": requestTimeout,
		"VaultUnsupportedMediaType": unsupportedMediaType, "VaultUnavailable": unavailable,
		"VaultTooManyRequests": tooManyRequests,
	} {
		r := at(root, "components", "responses", name)
		require.JSONEq(t, string(replyVault(problem{kind: kind}).body), string(at(r, "content", "application/json", "example").Raw()), name)
	}
	large := at(root, "components", "responses", "VaultTooLarge", "content", "application/json", "example")
	require.JSONEq(t, string(replyVault(bodyTooLarge(vaultMaxBody)).body), string(large.Raw()))
	require.Len(t, keys(at(root, "components", "responses")), 8)
	var outside []string
	for _, e := range at(root, "components", "schemas", "VaultErrorBody", "examples").Elements() {
		outside = append(outside, compactJSON(t, e))
	}
	require.Equal(t, []string{string(replyVault(problem{kind: notFound}).body), string(replyVault(problem{kind: methodNotAllowed}).body)}, outside)
}

func compactJSON(t *testing.T, v strictjson.Value) string {
	t.Helper()
	var body vaultErrorBody
	require.NoError(t, json.Unmarshal(v.Raw(), &body))
	return string(mustJSON(body))
}

// Each status of the service has its code, and each reason is described.
func TestVaultCodesAndReasons(t *testing.T) {
	for kind, k := range kinds {
		if kind != invalid {
			require.NotZero(t, grpcCodes[k.status], http.StatusText(k.status))
		}
	}
	h, _ := describedVault(t, everyVaultOption)
	properties := at(parsedAuthMgmt(t, h), "components", "schemas", "VaultErrorDetail", "properties")
	text := at(properties, "reason", "description").Text()
	reasons := []string{reasonJSON, reasonType, reasonListMissing, reasonListEmpty, reasonListTooLong, reasonValueMissing, reasonValueTooLong, reasonNoPlace,
		reasonHalfPlace, reasonTwoPlaces, reasonFieldsMissing, reasonFieldsEmpty, reasonTokenMissing, reasonRedaction, reasonNotText, reasonCorrupt,
		reasonVaultNotFound, reasonUnsupported}
	for _, f := range vaultFailures {
		require.NotZero(t, grpcCodes[f.answer()])
		for _, d := range f.items {
			reasons = append(reasons, d.Reason)
		}
	}
	for _, reason := range reasons {
		require.Contains(t, text, "`"+reason+"`")
	}
	codes := at(parsedAuthMgmt(t, h), "components", "schemas", "VaultError", "properties", "grpc_code", "description").Text()
	for status, code := range grpcCodes {
		require.Regexp(t, `\b`+strconv.Itoa(code)+` \([0-9 and]*`+strconv.Itoa(status), codes)
	}
}

// What is unavailable is so whatever it wraps, and nobody is to blame for it.
func TestVaultErrorsThatWrapOthers(t *testing.T) {
	for _, f := range vaultFailures[1:] {
		err := fmt.Errorf("%w: look: %w", mortise.ErrUnavailable, f.err)
		for _, err := range []error{err, &vault.BatchError{Items: []*vault.ItemError{{Err: err}}}} {
			if p, known := vaultErrors.classify(err); !errors.Is(err, keyring.ErrCorrupt) {
				require.Equal(t, problem{kind: unavailable}, p)
				require.False(t, known, "the operator is told")
			}
		}
	}
}

// TestFailuresAreFound: no row of a table stands behind one that takes its errors.
func TestFailuresAreFound(t *testing.T) {
	for _, table := range []failures{triggerFailures, vaultFailures, audioSearchFailures, authMgmtFailures, acceptFailures} {
		for _, f := range table {
			p, known := table.find(f.err)
			require.True(t, known)
			require.Equal(t, f.problem, p, f.err)
		}
	}
}
