package httpadapter

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

var everyAuthMgmtOption = AuthMgmtOptions{Clients: true, Invitations: true, Tokens: true, AcceptPage: true, Login: true}

func describedAuthMgmt(t *testing.T, opts AuthMgmtOptions) *Handler {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	key, err := authmgmt.NewInvitationKey([]byte("not random, and nobody's key !?>"))
	require.NoError(t, err)
	s, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, &authmgmt.Options{InvitationKey: key, AcceptURL: "https://api.example.com" + AcceptPath})
	require.NoError(t, err)
	h, err := NewAuthMgmt(s, AuthenticatorFunc(func(*http.Request) (Principal, error) {
		return Principal{Organization: "acme", Subject: "somebody", Access: access.Full()}, nil
	}), &opts)
	require.NoError(t, err)
	return h
}

func parsedAuthMgmt(t *testing.T, handlers ...*Handler) strictjson.Value {
	t.Helper()
	doc, err := OpenAPI(nil, handlers...)
	require.NoError(t, err)
	require.NotContains(t, string(doc), onlyWith)
	root, err := strictjson.Parse(doc, 0)
	require.NoError(t, err)
	return root
}

func TestOpenAPIOfAuthMgmtDescribesWhatIsMounted(t *testing.T) {
	errorSchemas := []string{"DetailError", "HTTPValidationError", "ValidationError"}
	clientSchemas := []string{"RoleAssignment", "GivenRole", "ClientUpdate", "ClientCredentials"}
	plain := slices.Concat(clientSchemas, []string{"UserInvitation"}, errorSchemas)
	for name, c := range map[string]struct {
		opts             AuthMgmtOptions
		schemas, schemes []string
		tags             []string
	}{
		"as the spec has it": {AuthMgmtOptions{}, plain, []string{"accessToken"}, []string{"Clients", "Invitations"}},
		"clients": {AuthMgmtOptions{Clients: true}, slices.Concat(clientSchemas, []string{"ClientCreation", "ClientPage", "SecretRotation", "ClientSecret", "ClientSecrets", "UserInvitation", "ListMeta"}, errorSchemas),
			[]string{"accessToken"}, []string{"Clients", "Invitations"}},
		"invitations": {AuthMgmtOptions{Invitations: true}, slices.Concat(clientSchemas, []string{"UserInvitation", "NewInvitation", "InvitationPage", "ListMeta"}, errorSchemas),
			[]string{"accessToken"}, []string{"Clients", "Invitations"}},
		"tokens": {AuthMgmtOptions{Tokens: true}, slices.Concat(clientSchemas, []string{"UserInvitation", "IssuedToken", "IssuedTokenPage", "ListMeta"}, errorSchemas),
			[]string{"accessToken"}, []string{"Clients", "Invitations", "Tokens"}},
		"page": {AuthMgmtOptions{AcceptPage: true}, plain, []string{"accessToken"}, []string{"Clients", "Invitations"}},
		"login": {AuthMgmtOptions{Login: true}, slices.Concat(clientSchemas, []string{"UserInvitation", "TokenRequest", "AccessToken", "TokenError"}, errorSchemas),
			[]string{"accessToken", "clientBasic"}, []string{"Clients", "Invitations", "Tokens"}},
		"login only": {AuthMgmtOptions{Login: true, PublicOnly: true}, []string{"TokenRequest", "AccessToken", "TokenError"},
			[]string{"clientBasic"}, []string{"Tokens"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := describedAuthMgmt(t, c.opts)
			root := parsedAuthMgmt(t, h)
			require.Len(t, describedOperations(root), len(h.Routes()))
			require.Equal(t, c.schemas, keys(at(root, "components", "schemas")))
			require.Equal(t, c.schemes, keys(at(root, "components", "securitySchemes")))
			var tags []string
			for _, tag := range at(root, "tags").Elements() {
				tags = append(tags, at(tag, "name").Text())
			}
			require.Equal(t, c.tags, tags)
		})
	}
}

func TestOpenAPIOfAuthMgmtOperations(t *testing.T) {
	h := describedAuthMgmt(t, everyAuthMgmtOption)
	root := parsedAuthMgmt(t, h)
	var want, got []string
	for _, r := range h.Routes() {
		want = append(want, r.ID+" "+r.Method+" "+r.Pattern)
	}
	for _, op := range describedOperations(root) {
		got = append(got, op.ID+" "+op.Method+" "+op.Pattern)
	}
	require.ElementsMatch(t, want, got)
	security := map[string]string{"login": `[{"clientBasic":[]},{}]`, "showInvitation": `[]`, "acceptInvitation": `[]`}
	for path, item := range at(root, "paths").Members() {
		for _, op := range item.Members() {
			expected, public := security[at(op, "operationId").Text()]
			if !public {
				expected = `[{"accessToken":[]}]`
			}
			require.JSONEq(t, expected, string(at(op, "security").Raw()), path.Text())
			require.NotEmpty(t, at(op, "summary").Text(), path.Text())
			require.NotEmpty(t, at(op, "description").Text(), path.Text())
		}
	}
}

// Both services in one document: what they share is the same, and nothing else has the
// same name.
func TestOpenAPIOfTriggersAndAuthMgmt(t *testing.T) {
	trigger, auth := describedTrigger(t, everyOption), describedAuthMgmt(t, everyAuthMgmtOption)
	root := parsedAuthMgmt(t, trigger, auth)
	require.Len(t, describedOperations(root), len(trigger.Routes())+len(auth.Routes()))
	require.Equal(t, []string{"bearerAuth", "accessToken", "clientBasic"}, keys(at(root, "components", "securitySchemes")))
}

// The examples of errors are just what the tables answer.
func TestOpenAPIOfAuthMgmtErrorExamplesAreTheTables(t *testing.T) {
	type answer struct {
		status int // 0: of no operation
		body   string
	}
	var want []answer
	add := func(list *[]answer, status int, body []byte) {
		if a := (answer{status, string(body)}); !slices.Contains(*list, a) {
			*list = append(*list, a)
		}
	}
	root := parsedAuthMgmt(t, describedAuthMgmt(t, everyAuthMgmtOption))
	outside := func(p problem) bool { return p.kind == methodNotAllowed || p.kind == notFound && p.message == "" }
	for kind, k := range kinds {
		if k.text == "" {
			continue
		}
		resp := replyDetail(problem{kind: kind})
		if outside(problem{kind: kind}) {
			resp.status = 0
		}
		add(&want, resp.status, resp.body)
	}
	for _, p := range []problem{bodyTooLarge(1 << 20), keyUnsupported} {
		resp := replyDetail(p)
		add(&want, resp.status, resp.body)
	}
	for _, err := range []error{authmgmt.ErrForbidden, authmgmt.ErrRBACDisabled, authmgmt.ErrPendingInvitation, errClientChanged} {
		p, known := clientErrors.classify(err)
		require.True(t, known)
		resp := replyDetail(p)
		add(&want, resp.status, resp.body)
	}
	p, known := clientErrors.classify(mortise.Problem{
		Path: mortise.Path{{Field: "secrets"}}, Message: "two secrets work; revoke one, or wait until 2026-01-02T00:00:00.000000Z",
	})
	require.True(t, known)
	add(&want, http.StatusConflict, replyDetail(p).body)
	for _, op := range describedAuthMgmt(t, everyAuthMgmtOption).ops {
		if !op.public {
			p, known := op.errors.classify(mortise.ErrNotFound)
			require.True(t, known)
			add(&want, http.StatusNotFound, op.errors.reply(p).body)
		}
	}
	for kind := range tokenTexts {
		resp := replyToken(problem{kind: kind})
		if kind == methodNotAllowed {
			resp.status = 0
		}
		add(&want, resp.status, resp.body)
	}
	p, _ = loginFailures.find(authmgmt.ErrInvalidCredentials)
	add(&want, p.status, replyToken(p).body)
	for _, c := range []struct{ target, body string }{ // the problems that a request can have
		{"?client_secret=x", ""}, {"", ""}, {"", "%"}, {"", "grant_type=x"}, {"", "grant_type=client_credentials&scope=x"}, {"", "grant_type=client_credentials"},
		{"", "grant_type=client_credentials&client_secret=x"}, {"", "grant_type=client_credentials&client_id=z"},
	} {
		r := httptest.NewRequest("POST", loginPath+c.target, nil)
		if strings.Contains(c.body, "&client_") {
			r.SetBasicAuth("x", "y")
		}
		_, wrong := tokenRequest(&call{r: r, body: []byte(c.body)})
		require.NotNil(t, wrong)
		add(&want, wrong.status, replyToken(*wrong).body)
	}

	var got []answer
	for name := range map[string]bool{"DetailError": true, "TokenError": true} {
		for _, e := range at(root, "components", "schemas", name, "examples").Elements() {
			add(&got, 0, compact(t, e))
		}
	}
	for _, item := range at(root, "paths").Members() {
		for _, op := range item.Members() {
			for status, r := range at(op, "responses").Members() {
				r, _ = followRef(t, root, r)
				code, err := strconv.Atoi(status.Text())
				require.NoError(t, err)
				for _, e := range describedExamples(t, root, at(r, "content"), status.Text()) {
					if ref := at(e.schema, "$ref"); ref.Equal("#/components/schemas/DetailError") || ref.Equal("#/components/schemas/TokenError") {
						add(&got, code, compact(t, e.value))
					}
				}
			}
		}
	}
	require.ElementsMatch(t, want, got)
}

// TestOpenAPIOfAuthMgmtSaysWhatMayBeTaken: the operations that give something or take it
// away say that the caller must hold it. To cancel an invitation takes nothing from
// anybody.
func TestOpenAPIOfAuthMgmtSaysWhatMayBeTaken(t *testing.T) {
	p, known := clientErrors.classify(authmgmt.ErrForbidden)
	require.True(t, known)
	root := parsedAuthMgmt(t, describedAuthMgmt(t, everyAuthMgmtOption))
	var bounded []string
	for _, item := range at(root, "paths").Members() {
		for _, op := range item.Members() {
			r, _ := followRef(t, root, at(op, "responses", "403"))
			if strings.Contains(string(at(r, "content").Raw()), p.message) {
				bounded = append(bounded, at(op, "operationId").Text())
			}
		}
	}
	require.ElementsMatch(t, []string{
		"updateClient", "createClient", "rotateClientSecret", "revokeClientSecret", "deleteClient", "createUserInvitation", "resendUserInvitation", "revokeToken",
	}, bounded)
}

func compact(t *testing.T, v strictjson.Value) []byte {
	t.Helper()
	var text map[string]string
	require.NoError(t, json.Unmarshal(v.Raw(), &text))
	if detail, ok := text["detail"]; ok {
		return mustJSON(detailText{detail})
	}
	return mustJSON(tokenErrorBody{text["error"], text["error_description"]})
}

// The examples of 422 are what these requests are answered with.
func TestOpenAPIOfAuthMgmtValidationExamplesAreReal(t *testing.T) {
	h := describedAuthMgmt(t, everyAuthMgmtOption)
	root := parsedAuthMgmt(t, h)
	long := strings.Repeat("x", 256)
	seen := 0
	for _, c := range []struct{ method, pattern, body, name string }{
		{"PUT", clientPath, `{"name":1,"roles":[{"role_id":"viewer"},{"role_id":"owner"}]}`, "role"},
		{"PUT", clientPath, `{"roles_context":"vault"}`, "context"},
		{"PUT", clientPath, `{"roles":[{"role_id":"viewer","resource":"dataset"}],"roles_context":"system"}`, "contradiction"},
		{"PUT", clientPath, `{"name": x}`, "not_json"},
		{"GET", clientPath, ``, ""},
		{"DELETE", clientPath, ``, ""},
		{"POST", clientPath + "/rotate-secret", `{"overlap_seconds":7776001}`, ""},
		{"GET", secretsPath, ``, ""},
		{"DELETE", secretPath, ``, ""},
		{"POST", clientsPath, `{}`, ""},
		{"GET", clientsPath + "?limit=1001", ``, ""},
		{"GET", invitationPath, ``, ""},
		{"DELETE", invitationPath, ``, ""},
		{"POST", invitationPath + "/resend", ``, ""},
		{"POST", invitationsPath, `{"email":"a@b.c"}`, "missing"},
		{"POST", invitationsPath, `{"email":"nobody","name":"a"}`, "email"},
		{"GET", invitationsPath + "?limit=1001", ``, ""},
		{"GET", issuedPath + "?limit=1001", ``, ""},
		{"DELETE", issuedTokenPath, ``, ""},
	} {
		id := "c1"
		if c.body == "" {
			id = long
		}
		target := strings.NewReplacer("{client_id}", id, "{invitation_id}", id, "{token_id}", "ops", "{secret_id}", "ops").Replace(c.pattern)
		r := httptest.NewRequest(c.method, target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body.String())
		pattern, _, _ := strings.Cut(c.pattern, "?")
		media := at(root, "paths", pattern, strings.ToLower(c.method), "responses", "422", "content", "application/json")
		example := at(media, "example")
		if c.name != "" {
			example = at(media, "examples", c.name, "value")
		}
		require.JSONEq(t, string(example.Raw()), w.Body.String(), c.method+c.pattern)
		seen++
	}
	described := 0
	for _, item := range at(root, "paths").Members() {
		for _, op := range item.Members() {
			if r, ok := at(op, "responses").Get("422"); ok {
				described += len(describedExamples(t, root, at(r, "content"), ""))
			}
		}
	}
	require.Equal(t, described, seen)
}

func TestErrorsOfTheDomainThatNobodyExpects(t *testing.T) {
	for _, err := range []error{mortise.ErrExists, mortise.ErrUnavailable, errors.ErrUnsupported} {
		p, known := clientErrors.classify(err)
		require.Equal(t, unavailable, p.kind)
		require.False(t, known, "the operator is told")
	}
}
