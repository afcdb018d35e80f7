package httpadapter_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// vaultRequest is a request that succeeds if it may.
type vaultRequest struct{ operation, method, path, body string }

// vaultRequests has one of each operation, on a vault that has the token.
func vaultRequests(id, token string) []vaultRequest {
	at := "/v1/vaults/" + id
	return []vaultRequest{
		{"tokenize", "POST", at + "/tokenize", parameters(ofName("Ada"))},
		{"insertRecords", "POST", at + "/persons", `{"records":[{"fields":{"name":"Ada"}}]}`},
		{"detokenize", "POST", at + "/detokenize", detokenization(ofToken(token, ""))},
		{"detokenizePlain", "POST", at + "/detokenize", detokenization(ofToken(token, "PLAIN_TEXT"))},
		{"deleteToken", "DELETE", at + "/tokens/" + token, ""},
	}
}

// What each role may do, and where.
func TestVaultRoles(t *testing.T) {
	viewer, editor := "tokenize ", "tokenize insertRecords detokenize "
	admin := "tokenize insertRecords detokenize detokenizePlain deleteToken "
	for caller, allowed := range map[string][2]string{ // on v1, on v2
		"full": {admin, admin}, "admin": {admin, admin}, "editor": {editor, editor}, "viewer": {viewer, viewer}, "none": {"", ""}, "other admin": {"", ""},
		"vault editor": {editor, editor}, "v1 admin": {admin, ""}, "v2 admin": {"", admin},
	} {
		t.Run(caller, func(t *testing.T) {
			r := newVaultRig(t, nil, nil)
			for i, id := range []string{"v1", "v2"} {
				token := r.insert("acme", id, "persons", "name", "Ada")
				for _, q := range vaultRequests(id, token) {
					w := r.as(caller, q.method, q.path, q.body)
					may := strings.Contains(allowed[i], q.operation+" ")
					switch {
					case may:
						require.Equal(t, http.StatusOK, w.Code, "%s: %s", q.operation, w.Body)
					case q.operation == "detokenizePlain" && strings.Contains(allowed[i], "detokenize "):
						requireProblems(t, w, http.StatusForbidden, problemAt{0, "", "redaction_not_allowed"})
					default:
						require.Equal(t, "These credentials do not allow this operation.", requireProblems(t, w, http.StatusForbidden), q.operation)
					}
				}
			}
		})
	}
}

// Another organization's vault is answered just like one that there is not, to the byte.
func TestVaultOfAnotherOrganization(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("rival", "theirs", "persons", "name", "Ada")
	theirs, none := vaultRequests("theirs", token), vaultRequests("none", token)
	for i := range theirs {
		a, b := r.as("full", theirs[i].method, theirs[i].path, theirs[i].body), r.as("full", none[i].method, none[i].path, none[i].body)
		requireProblems(t, a, http.StatusNotFound, problemAt{-1, "", "vault_not_found"})
		require.Equal(t, a.Body.String(), b.Body.String())
		require.Equal(t, http.StatusOK, r.as("rival", theirs[i].method, theirs[i].path, theirs[i].body).Code)
	}
	// A vault of the same ID is another vault, with other tokens.
	ours, others := r.insert("acme", "v1", "persons", "name", "Ada"), r.insert("rival", "v1", "persons", "name", "Ada")
	require.NotEqual(t, ours, others)
	requireTokens(t, r.as("rival", "POST", tokenize, parameters(ofName("Ada"))), others)
	// Who may not is told that first, whatever there is.
	for _, id := range []string{"v1", "none", "theirs"} {
		requireProblems(t, r.as("none", "POST", "/v1/vaults/"+id+"/tokenize", parameters(ofName("Ada"))), http.StatusForbidden)
	}
}

func TestVaultOrderOfChecks(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	text, large := header("Content-Type", "text/plain"), strings.Repeat(" ", 8<<20+1)
	const bad, shape = `{`, `{"tokenizationParameters":[{}]}`
	invalid := []problemAt{{0, "", "value_missing"}, {0, "", "place_missing"}}
	notJSON := problemAt{-1, "", "json_invalid"}
	requireProblems(t, r.as("", "GET", "/v1/nothing", ""), http.StatusNotFound)
	requireProblems(t, r.as("", "GET", tokenize, ""), http.StatusUnauthorized)
	requireProblems(t, r.as("", "POST", tokenize, bad, text), http.StatusUnauthorized)
	requireProblems(t, r.as("none", "GET", tokenize, bad, text), http.StatusMethodNotAllowed)
	requireProblems(t, r.as("none", "POST", tokenize, large, text), http.StatusUnsupportedMediaType)
	requireProblems(t, r.as("none", "POST", tokenize, large), http.StatusRequestEntityTooLarge)
	requireProblems(t, r.as("none", "POST", tokenize, bad), http.StatusBadRequest, notJSON)
	requireProblems(t, r.as("none", "POST", tokenize, shape), http.StatusBadRequest, invalid...)
	requireProblems(t, r.as("none", "POST", "/v1/vaults/none/tokenize", parameters(ofName("Ada"))), http.StatusForbidden)
	requireProblems(t, r.as("full", "POST", "/v1/vaults/none/tokenize", shape), http.StatusBadRequest, invalid...)
	requireProblems(t, r.as("full", "POST", "/v1/vaults/none/tokenize", parameters(ofName("Ada"))), http.StatusNotFound, problemAt{-1, "", "vault_not_found"})
	r.faults("Vault", "FindTokens")
	requireProblems(t, r.as("none", "POST", tokenize, parameters(ofName("Ada"))), http.StatusForbidden)
	requireProblems(t, r.as("full", "POST", tokenize, shape), http.StatusBadRequest, invalid...)
	requireProblems(t, r.as("full", "POST", tokenize, parameters(ofName("Ada"))), http.StatusServiceUnavailable)
	w := r.as("", "POST", tokenize, "")
	require.Equal(t, "Bearer", w.Header().Get("Www-Authenticate"))
}

// The limit of a body is the vault's own, unless the host has set one.
func TestVaultMaxBody(t *testing.T) {
	body := parameters(ofName("Ada"))
	for most, status := range map[int64]int{0: 200, int64(len(body)): 200, int64(len(body)) - 1: 413} {
		r := newVaultRig(t, &httpadapter.VaultOptions{Options: httpadapter.Options{MaxBody: most}}, nil)
		r.insert("acme", "v1", "persons", "name", "Ada")
		require.Equal(t, status, r.post(tokenize, body).Code, most)
	}
}

func TestVaultRoutes(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	for method, path := range map[string]string{"GET": tokenize, "DELETE": tokenize, "PUT": persons, "POST": tokens + "x", "PATCH": detokenize} {
		w := r.as("full", method, path, "")
		requireProblems(t, w, http.StatusMethodNotAllowed)
		want := "POST"
		if path == tokens+"x" {
			want = "DELETE"
		}
		require.Equal(t, want, w.Header().Get("Allow"))
	}
	for _, path := range []string{
		"/", "/v1", "/v1/vaults", v1, v1 + "/", "/v1/vaults//tokenize", tokenize + "/", "//v1/vaults/v1/tokenize", "/v1/./vaults/v1/tokenize",
		"/v1/vaults/../vaults/v1/tokenize", v1 + "/persons/x", tokens, tokens + "a/b", "/v2/vaults/v1/tokenize", "/V1/vaults/v1/tokenize",
	} {
		require.Equal(t, "There is nothing at this address.", requireProblems(t, r.as("full", "POST", path, `{}`), http.StatusNotFound), path)
	}
	// What can be no vault's ID.
	for _, id := range []string{"%00", "%ff", strings.Repeat("v", 256), "%ed%a0%80", "a%2Fb", "%2e%2e%2f", "V1", "v1%20"} {
		for _, q := range vaultRequests(id, "x") {
			requireProblems(t, r.as("full", q.method, q.path, q.body), http.StatusNotFound, problemAt{-1, "", "vault_not_found"})
		}
	}
	// The literal patterns win, and so no table of these names can be reached.
	require.Equal(t, "tokenizationParameters", fieldOfFirst(t, r.post(tokenize, `{}`)))
	require.Equal(t, "detokenizationParameters", fieldOfFirst(t, r.post(detokenize, `{}`)))
	require.Equal(t, "records", fieldOfFirst(t, r.post(v1+"/tokens", `{}`)))
	// By default there is the one operation of the document.
	plain := newVaultRig(t, &httpadapter.VaultOptions{}, nil)
	require.Len(t, plain.handler.Routes(), 1)
	for _, path := range []string{persons, detokenize, tokens + "x"} {
		requireProblems(t, plain.post(path, `{}`), http.StatusNotFound)
	}
}

func fieldOfFirst(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	require.Equal(t, http.StatusBadRequest, w.Code)
	_, rest, _ := strings.Cut(w.Body.String(), `"field":"`)
	field, _, _ := strings.Cut(rest, `"`)
	return field
}

func TestVaultUnavailable(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("acme", "v1", "persons", "name", "Ada")
	broken := map[string]string{
		"tokenize": "FindTokens", "insertRecords": "FindTokens", "detokenize": "AddAuditEvent", "detokenizePlain": "Rows", "deleteToken": "DeleteToken",
	}
	for _, q := range vaultRequests("v1", token) {
		r.faults(broken[q.operation])
		logged := len(r.log.String())
		requireProblems(t, r.as("full", q.method, q.path, q.body), http.StatusServiceUnavailable)
		require.Contains(t, r.log.String()[logged:], broken[q.operation]+": connection refused")
		if method := broken[q.operation]; method == "FindTokens" || method == "Rows" { // what a store knows to be corrupt
			r.store.mu.Lock()
			r.store.broken[method] = keyring.ErrCorrupt
			r.store.mu.Unlock()
			requireProblems(t, r.as("full", q.method, q.path, q.body), http.StatusInternalServerError, problemAt{-1, "", "value_corrupt"})
		}
	}
	r.faults()
	require.Equal(t, http.StatusOK, r.post(tokenize, parameters(ofName("Ada"))).Code)
}

func TestVaultCorruption(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	ada, bob := r.insert("acme", "v1", "persons", "name", "Ada"), r.insert("acme", "v1", "persons", "name", "Bob")
	r.faults("tamper")
	body := detokenization(ofToken(ada, ""), ofToken(bob, "REDACTED"), ofToken(bob, ""))
	message := requireProblems(t, r.post(detokenize, body), http.StatusInternalServerError, problemAt{0, "", "value_corrupt"}, problemAt{2, "", "value_corrupt"})
	require.Contains(t, message, ada, "the token is named")
	require.Contains(t, r.log.String(), ada, "for the operator, too")
	r.faults("strange key")
	requireProblems(t, r.post(detokenize, body), http.StatusServiceUnavailable)
	require.Contains(t, r.log.String(), "a key version is not loaded")
}

// The keys are not those of the store: nobody can do anything, and only the operator
// learns why.
func TestVaultWithOtherKeys(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("acme", "v1", "persons", "name", "Ada")
	for want, version := range map[string]int{"another key": 1, "not loaded": 2} {
		root, err := localkeys.NewRoot([]byte("another root key, also 32 bytes."))
		require.NoError(t, err)
		keyring, err := localkeys.New(localkeys.Key{Version: version, Root: root})
		require.NoError(t, err)
		service, err := vault.New(vault.Backend{Store: r.store}, keyring, nil)
		require.NoError(t, err)
		opts := everyVaultOption
		other := *r
		other.log = new(lockedBuffer)
		opts.Logger = jsonLog(other.log)
		other.handler, err = httpadapter.NewVault(service, httpadapter.Bearer(verifyVaultCaller), &opts)
		require.NoError(t, err)
		for _, q := range vaultRequests("v1", token)[:3] {
			requireProblems(t, other.as("full", q.method, q.path, q.body), http.StatusServiceUnavailable)
		}
		require.Contains(t, other.log.String(), want)
	}
}

func TestVaultAuthorize(t *testing.T) {
	var asked []string
	answer := error(nil)
	all := everyVaultOption
	all.Authorize = func(ctx context.Context, p httpadapter.Principal, action access.Action, resource access.Resource) error {
		asked = append(asked, p.Subject+" "+string(action)+" "+string(resource.Type)+" "+resource.ID)
		require.NotEmpty(t, httpadapter.RequestID(ctx))
		return answer
	}
	r := newVaultRig(t, &all, nil)
	token := r.insert("acme", "v1", "persons", "name", "Ada")
	for _, q := range vaultRequests("v1", token) {
		require.Equal(t, http.StatusOK, r.as("none", q.method, q.path, q.body).Code, q.operation)
	}
	const who = "client:none "
	require.Equal(t, []string{who + "tokenize vault v1", who + "insertRecords vault v1", who + "detokenize vault v1", who + "detokenizePlain vault v1",
		who + "detokenize vault v1", who + "detokenizePlain vault v1", who + "deleteToken vault v1"}, asked)
	for err, status := range map[error]int{
		&httpadapter.RateLimitError{RetryAfter: time.Second}: 429,
		httpadapter.ErrForbidden:                             403, httpadapter.ErrUnauthenticated: 401, errors.New("policy server down"): 503,
		mortise.ErrNotFound: 503, vault.ErrForbidden: 503, // the domain's errors mean nothing in a host's hook
	} {
		answer = err
		for _, q := range vaultRequests("v1", token) {
			requireProblems(t, r.as("full", q.method, q.path, q.body), status)
		}
	}
	asked = nil
	requireProblems(t, r.post("/v1/vaults/%00/tokenize", parameters(ofName("Ada"))), http.StatusNotFound, problemAt{-1, "", "vault_not_found"})
	require.Empty(t, asked, "a policy never sees what can be no ID")
}

func TestNewVaultRefuses(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	auth := httpadapter.Bearer(verifyVaultCaller)
	_, err := httpadapter.NewVault(nil, auth, nil)
	require.Error(t, err)
	_, err = httpadapter.NewVault(r.service, nil, nil)
	require.Error(t, err)
	for _, bad := range []string{"vault.example.com", "https://user:secret@vault.example.com", "ftp://x", "https://x?y"} {
		_, err = httpadapter.NewVault(r.service, auth, &httpadapter.VaultOptions{ProductionURL: bad})
		require.ErrorContains(t, err, "a server must be")
		require.NotContains(t, err.Error(), "secret")
		_, err = httpadapter.NewVault(r.service, auth, &httpadapter.VaultOptions{ProductionURL: "https://vault.example.com", SandboxURL: bad})
		require.ErrorContains(t, err, "a server must be")
	}
	_, err = httpadapter.NewVault(r.service, auth, &httpadapter.VaultOptions{SandboxURL: "https://vault.example.com"})
	require.ErrorContains(t, err, "ProductionURL")
	h, err := httpadapter.NewVault(r.service, auth, nil)
	require.NoError(t, err)
	require.Len(t, h.Routes(), 1)
}
