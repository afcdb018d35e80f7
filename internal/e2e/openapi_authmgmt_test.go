package e2e

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

func TestOpenAPIOfAuthMgmtIsValid(t *testing.T) {
	require.NoError(t, newAuthMgmtRig(t).described.Valid())
}

const (
	clientsAt     = "/api/v1/auth-management/clients"
	invitationsAt = "/api/v1/auth-management/user-invitations"
	issuedAt      = "/api/v1/auth-management/tokens"
	loginAt       = "/api/v0/login"
	htmlType      = "text/html; charset=utf-8"
)

func TestOpenAPIOfAuthMgmtHoldsForRealRequests(t *testing.T) {
	t.Parallel() // it waits for bodies that do not arrive
	r := newAuthMgmtRig(t)
	for _, id := range []string{"c1", "c2", "c3"} {
		r.client(id, "")
	}
	r.client("app", authMgmtSecret)
	for _, id := range []string{"i1", "i2"} {
		r.invite(id)
	}
	pages := r.pages()
	for _, list := range [][]exchange{r.updates(), r.managedClients(), r.managedInvitations(), r.issuedTokens(), r.logins(), pages} {
		for _, x := range list {
			t.Run(x.operation+"/"+x.name, func(t *testing.T) {
				r.t = t
				r.run(x)
			})
		}
	}
	for operation, request := range map[string][2]string{
		"updateClient": {"PUT", clientsAt + "/c1"}, "createClient": {"POST", clientsAt}, "rotateClientSecret": {"POST", clientsAt + "/c1/rotate-secret"},
		"createUserInvitation": {"POST", invitationsAt}, "login": {"POST", loginAt},
	} {
		t.Run(operation+"/slow body", func(t *testing.T) {
			r.t = t
			r.slow(exchange{method: request[0], path: request[1], body: "{", operation: operation, status: http.StatusRequestTimeout})
		})
	}
	r.t = t
	r.requireEveryStatus()
}

// slow sends a body that does not arrive.
func (r *openapiRig) slow(x exchange) {
	r.t.Helper()
	req := r.request(x)
	body, hold := io.Pipe()
	defer hold.Close()
	req.Body, req.ContentLength = body, 100
	resp, err := r.server.Client().Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, x.status, resp.StatusCode)
	r.checkAnswer(x, r.request(x), resp, answer)
}

// common are the failures that all operations behind an access token have, and those of
// all that take a body.
func (r *authMgmtRig) common(operation, method, path, body string) []exchange {
	as := func(name string) map[string]string {
		return map[string]string{"Authorization": "Bearer " + r.tokens[name]}
	}
	list := []exchange{
		{name: "no credentials", header: map[string]string{"Authorization": ""}, status: 401, undocumented: true},
		{name: "unknown token", header: map[string]string{"Authorization": "Bearer at-unknown"}, status: 401},
		{name: "forbidden", header: as("viewer"), status: 403},
		{name: "store down", broken: "TokenByDigest", status: 503},
	}
	for i := range list {
		list[i].body = body
	}
	if body != "" {
		list = append(list,
			exchange{name: "large", body: strings.TrimSuffix(body, "}") + `,"name":"` + strings.Repeat("a", 4096) + `"}`, status: 413, undocumented: true},
			exchange{name: "text", body: body, header: map[string]string{"Content-Type": "text/plain"}, status: 415, undocumented: true},
			exchange{name: "no JSON", body: `{`, status: 422, undocumented: true},
			exchange{name: "list", body: `[]`, status: 422, undocumented: true})
	}
	if method == http.MethodPost {
		list = append(list, exchange{name: "key", body: body, header: map[string]string{"Idempotency-Key": "7"}, status: 400, undocumented: true})
	}
	for i := range list {
		list[i].operation, list[i].method, list[i].path = operation, method, path
	}
	return list
}

func (r *authMgmtRig) updates() []exchange {
	const operation, fine = "updateClient", `{"roles":[{"role_id":"viewer"}]}`
	const everything = `{"name":"New","roles":[{"role_id":"viewer","resource":"dataset","resource_instance":"d1"},` +
		`{"role_id":"editor","resource":null,"resource_instance":null}],"roles_context":null}`
	path := clientsAt + "/c1"
	list := []exchange{
		{name: "nothing", body: `{}`, status: 200},
		{name: "everything",
			body: everything, status: 200},
		{name: "another version", body: everything, header: map[string]string{"If-Match": `"x"`}, status: 412},
		{name: "any version", body: everything, header: map[string]string{"If-Match": "*"}, status: 200},
		{name: "nulls", body: `{"name":null,"roles":null,"roles_context":null}`, status: 200},
		{name: "context", body: `{"roles":[{"role_id":"viewer"}],"roles_context":"dataset:d1"}`, status: 200},
		{name: "unknown field", body: `{"priority":1}`, status: 200, undocumented: true}, // ignored; the strict validator wants to know of it
		{name: "gives full access", body: `{}`, header: map[string]string{"Authorization": "Bearer " + r.tokens["admin"]}, status: 403},
		{name: "no RBAC", body: fine, status: 403, before: func() { r.rbac(false) }, after: func() { r.rbac(true) }},
		{name: "unknown role", body: `{"roles":[{"role_id":"owner"}]}`, status: 422}, // only the service knows its roles
		{name: "contradiction", body: `{"roles":[{"role_id":"viewer","resource":"vault"}],"roles_context":"system"}`, status: 422},
	}
	for name, body := range map[string]string{
		"empty name": `{"name":""}`, "long name": `{"name":"` + strings.Repeat("n", 256) + `"}`, "name": `{"name":1}`, "roles": `{"roles":{}}`,
		"no role": `{"roles":[{}]}`, "empty role": `{"roles":[{"role_id":""}]}`, "null role": `{"roles":[null]}`, "empty resource": `{"roles":[{"role_id":"viewer","resource":""}]}`,
		"context": `{"roles_context":"vault:v1"}`, "empty context": `{"roles_context":""}`, "no dataset": `{"roles_context":"dataset:"}`,
		"101 roles": `{"roles":[` + strings.TrimSuffix(strings.Repeat(`{"role_id":"viewer"},`, 101), ",") + `]}`,
	} {
		list = append(list, exchange{name: "invalid, " + name, body: body, status: 422, undocumented: true})
	}
	for i := range list {
		list[i].operation, list[i].method, list[i].path = operation, "PUT", path
	}
	list = append(list, exchange{name: "unknown", operation: operation, method: "PUT", path: clientsAt + "/unknown", body: fine, status: 404},
		exchange{name: "long ID", operation: operation, method: "PUT", path: clientsAt + "/" + strings.Repeat("c", 256),
			body: fine, status: 422, undocumented: true})
	return append(list, r.common(operation, "PUT", path, fine)...)
}

func (r *authMgmtRig) managedClients() []exchange {
	const long, create, rotate = clientsAt + "/cccccccccc", `{"name":"CI","roles":[{"role_id":"viewer"}]}`, `{"overlap_seconds":60}`
	tooLong := long + strings.Repeat("c", 250)
	c3, err := r.service.Client(r.t.Context(), "acme", "c3")
	require.NoError(r.t, err)
	secret := clientsAt + "/c3/secrets/" + c3.Secrets[0].ID.String()
	asAdmin := map[string]string{"Authorization": "Bearer " + r.tokens["admin"]}
	var list []exchange
	for operation, request := range map[string]struct{ method, path, body string }{
		"createClient": {"POST", clientsAt, create}, "listClients": {"GET", clientsAt, ""},
		"getClient": {"GET", clientsAt + "/c2", ""}, "listClientSecrets": {"GET", clientsAt + "/c2/secrets", ""}, "revokeClientSecret": {"DELETE", secret, ""},
		"deleteClient": {"DELETE", clientsAt + "/c2", ""}, "rotateClientSecret": {"POST", clientsAt + "/c2/rotate-secret", rotate},
	} {
		list = append(list, r.common(operation, request.method, request.path, request.body)...)
	}
	return append(list,
		exchange{operation: "createClient", name: "with roles", method: "POST", path: clientsAt, body: create, status: 201},
		exchange{operation: "createClient", name: "without", method: "POST", path: clientsAt, body: `{"name":"CI","roles":null}`, status: 201},
		exchange{operation: "createClient", name: "no name", method: "POST", path: clientsAt, body: `{}`, status: 422, undocumented: true},
		exchange{operation: "createClient", name: "null name", method: "POST", path: clientsAt, body: `{"name":null}`, status: 422, undocumented: true},
		exchange{operation: "createClient", name: "gives full access", method: "POST", path: clientsAt, body: `{"name":"CI"}`, header: asAdmin, status: 403},
		exchange{operation: "listClients", name: "all", method: "GET", path: clientsAt, status: 200},
		exchange{operation: "listClients", name: "page", method: "GET", path: clientsAt + "?offset=1&limit=1", status: 200},
		exchange{operation: "listClients", name: "limit 0", method: "GET", path: clientsAt + "?limit=0", status: 422, undocumented: true},
		exchange{operation: "listClients", name: "offset -1", method: "GET", path: clientsAt + "?offset=-1", status: 422, undocumented: true},
		exchange{operation: "listClients", name: "huge offset", method: "GET", path: clientsAt + "?offset=2147483648", status: 422, undocumented: true},
		exchange{operation: "getClient", name: "one", method: "GET", path: clientsAt + "/c2", status: 200},
		exchange{operation: "getClient", name: "unknown", method: "GET", path: clientsAt + "/unknown", status: 404},
		exchange{operation: "getClient", name: "long ID", method: "GET", path: tooLong, status: 422, undocumented: true},
		exchange{operation: "rotateClientSecret", name: "without a body", method: "POST", path: clientsAt + "/c2/rotate-secret", status: 200},
		exchange{operation: "rotateClientSecret", name: "two work", method: "POST", path: clientsAt + "/c2/rotate-secret", body: rotate, status: 409},
		exchange{operation: "rotateClientSecret", name: "at once", method: "POST", path: clientsAt + "/c2/rotate-secret",
			body: `{"overlap_seconds":0}`, status: 200},
		exchange{operation: "rotateClientSecret", name: "overlap", method: "POST", path: clientsAt + "/c2/rotate-secret", body: rotate, status: 200},
		exchange{operation: "rotateClientSecret", name: "null", method: "POST", path: clientsAt + "/c1/rotate-secret",
			body: `{"overlap_seconds":null}`, status: 200},
		exchange{operation: "rotateClientSecret", name: "null body", method: "POST", path: clientsAt + "/c3/rotate-secret", body: `null`, status: 200},
		exchange{operation: "rotateClientSecret", name: "too long", method: "POST", path: clientsAt + "/c2/rotate-secret",
			body: `{"overlap_seconds":7776001}`, status: 422, undocumented: true},
		exchange{operation: "rotateClientSecret", name: "full access", method: "POST", path: clientsAt + "/c2/rotate-secret", header: asAdmin, status: 403},
		exchange{operation: "rotateClientSecret", name: "unknown", method: "POST", path: clientsAt + "/unknown/rotate-secret", status: 404},
		exchange{operation: "listClientSecrets", name: "all", method: "GET", path: clientsAt + "/c2/secrets", status: 200},
		exchange{operation: "listClientSecrets", name: "unknown", method: "GET", path: clientsAt + "/unknown/secrets", status: 404},
		exchange{operation: "listClientSecrets", name: "long ID", method: "GET", path: tooLong + "/secrets", status: 422, undocumented: true},
		exchange{operation: "revokeClientSecret", name: "one", method: "DELETE", path: secret, status: 200, mediaType: "none"},
		exchange{operation: "revokeClientSecret", name: "again", method: "DELETE", path: secret, status: 404},
		exchange{operation: "revokeClientSecret", name: "no ID", method: "DELETE", path: clientsAt + "/c2/secrets/first", status: 422, undocumented: true},
		exchange{operation: "deleteClient", name: "one", method: "DELETE", path: clientsAt + "/c3", status: 200, mediaType: "none"},
		exchange{operation: "deleteClient", name: "again", method: "DELETE", path: clientsAt + "/c3", status: 404},
		exchange{operation: "deleteClient", name: "long ID", method: "DELETE", path: tooLong, status: 422, undocumented: true},
	)
}

func (r *authMgmtRig) managedInvitations() []exchange {
	const create = `{"email":"b@example.com","name":"B","roles":[{"role_id":"viewer"}],"expires_in":60}`
	tooLong := invitationsAt + "/" + strings.Repeat("i", 256)
	asAdmin := map[string]string{"Authorization": "Bearer " + r.tokens["admin"]}
	var list []exchange
	for operation, request := range map[string]struct{ method, path, body string }{
		"createUserInvitation": {"POST", invitationsAt, create}, "listUserInvitations": {"GET", invitationsAt, ""}, "getUserInvitation": {"GET", invitationsAt + "/i1", ""},
		"deleteUserInvitation": {"DELETE", invitationsAt + "/i1", ""}, "resendUserInvitation": {"POST", invitationsAt + "/i1/resend", ""},
	} {
		list = append(list, r.common(operation, request.method, request.path, request.body)...)
	}
	for name, body := range map[string]string{
		"nothing": `{}`, "no name": `{"email":"x@example.com"}`, "null": `{"email":null,"name":"x"}`, "no lifetime": `{"email":"x@example.com","name":"x","expires_in":0}`,
		"long lifetime": `{"email":"x@example.com","name":"x","expires_in":2592001}`, "invitee without a name": `{"invitee":{"email":"x@example.com"}}`,
	} {
		list = append(list, exchange{operation: "createUserInvitation", name: "invalid, " + name, method: "POST", path: invitationsAt, body: body, status: 422, undocumented: true})
	}
	return append(list,
		exchange{operation: "createUserInvitation", name: "flat", method: "POST", path: invitationsAt, body: create, status: 201},
		exchange{operation: "createUserInvitation", name: "again", method: "POST", path: invitationsAt, body: create, status: 409},
		exchange{operation: "createUserInvitation", name: "invitee", method: "POST", path: invitationsAt,
			body: `{"invitee":{"email":"c@example.com","name":"C"}}`, status: 201},
		exchange{operation: "createUserInvitation", name: "gives full access", method: "POST", path: invitationsAt,
			body: `{"email":"d@example.com","name":"D"}`, header: asAdmin, status: 403},
		exchange{operation: "createUserInvitation", name: "no address", method: "POST", path: invitationsAt, body: `{"email":"nobody","name":"D"}`, status: 422},
		exchange{operation: "listUserInvitations", name: "all", method: "GET", path: invitationsAt, status: 200},
		exchange{operation: "listUserInvitations", name: "page", method: "GET", path: invitationsAt + "?offset=1&limit=1000", status: 200},
		exchange{operation: "listUserInvitations", name: "limit", method: "GET", path: invitationsAt + "?limit=1001", status: 422, undocumented: true},
		exchange{operation: "getUserInvitation", name: "one", method: "GET", path: invitationsAt + "/i1", status: 200},
		exchange{operation: "getUserInvitation", name: "without its link", method: "GET", path: invitationsAt + "/i1", header: asAdmin, status: 200},
		exchange{operation: "getUserInvitation", name: "unknown", method: "GET", path: invitationsAt + "/unknown", status: 404},
		exchange{operation: "getUserInvitation", name: "long ID", method: "GET", path: tooLong, status: 422, undocumented: true},
		exchange{operation: "resendUserInvitation", name: "one", method: "POST", path: invitationsAt + "/i1/resend", status: 200},
		exchange{operation: "resendUserInvitation", name: "full access", method: "POST", path: invitationsAt + "/i1/resend", header: asAdmin, status: 403},
		exchange{operation: "resendUserInvitation", name: "unknown", method: "POST", path: invitationsAt + "/unknown/resend", status: 404},
		exchange{operation: "resendUserInvitation", name: "long ID", method: "POST", path: tooLong + "/resend", status: 422, undocumented: true},
		exchange{operation: "deleteUserInvitation", name: "one", method: "DELETE", path: invitationsAt + "/i2", status: 200, mediaType: "none"},
		exchange{operation: "deleteUserInvitation", name: "again", method: "DELETE", path: invitationsAt + "/i2", status: 404},
		exchange{operation: "deleteUserInvitation", name: "long ID", method: "DELETE", path: tooLong, status: 422, undocumented: true},
	)
}

func (r *authMgmtRig) issuedTokens() []exchange {
	mine, others := issuedAt+"/"+r.issued["spare"].String(), issuedAt+"/"+r.issued["full"].String()
	asAdmin := map[string]string{"Authorization": "Bearer " + r.tokens["admin"]}
	list := r.common("listTokens", "GET", issuedAt, "")
	list = append(list, r.common("revokeToken", "DELETE", mine, "")...)
	return append(list,
		exchange{operation: "listTokens", name: "all", method: "GET", path: issuedAt, status: 200},
		exchange{operation: "listTokens", name: "page", method: "GET", path: issuedAt + "?offset=1&limit=1", status: 200},
		exchange{operation: "listTokens", name: "limit", method: "GET", path: issuedAt + "?limit=0", status: 422, undocumented: true},
		exchange{operation: "revokeToken", name: "no ID", method: "DELETE", path: issuedAt + "/ops", status: 422, undocumented: true},
		exchange{operation: "revokeToken", name: "unknown", method: "DELETE", path: issuedAt + "/" + uuid.Max.String(), status: 404},
		exchange{operation: "revokeToken", name: "one", method: "DELETE", path: mine, header: asAdmin, status: 200, mediaType: "none"},
		exchange{operation: "revokeToken", name: "full access", method: "DELETE", path: others, header: asAdmin, status: 403},
	)
}

func (r *authMgmtRig) logins() []exchange {
	const form = "application/x-www-form-urlencoded"
	basic := func(id, secret string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
	}
	fine := map[string]string{"Authorization": basic("app", authMgmtSecret), "Content-Type": form}
	nobody := map[string]string{"Authorization": "", "Content-Type": form}
	const grant = "grant_type=client_credentials"
	list := []exchange{
		{name: "Basic", body: grant, header: fine, status: 200},
		{name: "form", body: grant + "&client_id=app&client_secret=" + authMgmtSecret, header: nobody, status: 200},
		{name: "JSON",
			body: `{"grant_type":"client_credentials","client_id":"app","client_secret":"` + authMgmtSecret + `"}`, header: map[string]string{"Authorization": ""}, status: 200},
		{name: "no grant", body: "client_id=app", header: nobody, status: 400, code: "invalid_request", undocumented: true},
		{name: "other grant", body: "grant_type=password", header: fine, status: 400, code: "unsupported_grant_type", undocumented: true},
		{name: "scope", body: grant + "&scope=read", header: fine, status: 400, code: "invalid_scope", undocumented: true},
		{name: "in the URL", path: loginAt + "?client_secret=x", body: grant, header: fine, status: 400, code: "invalid_request", undocumented: true},
		{name: "twice", body: grant + "&client_secret=x", header: fine, status: 400, code: "invalid_request"},
		{name: "another ID", body: grant + "&client_id=other", header: fine, status: 400, code: "invalid_request"},
		{name: "wrong secret",
			body: grant, header: map[string]string{"Authorization": basic("app", "wrong"), "Content-Type": form}, status: 401, code: "invalid_client"},
		{name: "nobody", body: grant, header: nobody, status: 401, code: "invalid_client"},
		{name: "large", body: grant + "&client_id=" + strings.Repeat("a", 4096), header: nobody, status: 413, code: "invalid_request"},
		{name: "text",
			body: grant, header: map[string]string{"Authorization": "", "Content-Type": "text/plain"}, status: 415, code: "invalid_request", undocumented: true},
		{name: "store down", body: grant, header: fine, broken: "ClientBySecret", status: 503, code: "temporarily_unavailable"},
	}
	guess := exchange{body: grant, header: map[string]string{"Authorization": basic("guessed", "wrong"), "Content-Type": form}, status: 401, code: "invalid_client"}
	for i := range 30 {
		guess.name = fmt.Sprint("guess ", i)
		list = append(list, guess)
	}
	guess.name, guess.status, guess.code = "too many guesses", 429, "slow_down"
	list = append(list, guess)
	for i := range list {
		x := &list[i]
		x.operation, x.method, x.challenge = "login", "POST", `Basic realm="token endpoint", charset="UTF-8"`
		if x.path == "" {
			x.path = loginAt
		}
	}
	return list
}

func (r *authMgmtRig) pages() []exchange {
	open, refused, broken := r.invite("p1"), r.invite("p2", access.Role{ID: "viewer"}), r.invite("p3")
	const unknown = httpadapter.AcceptPath + "unknown"
	list := []exchange{
		{operation: "showInvitation", name: "open", method: "GET", path: open, status: 200},
		{operation: "showInvitation", name: "unknown", method: "GET", path: unknown, status: 404},
		{operation: "showInvitation", name: "store down", method: "GET", path: open, broken: "Invitation", status: 503},
		{operation: "acceptInvitation", name: "open", method: "POST", path: open, status: 200},
		{operation: "acceptInvitation", name: "used", method: "POST", path: open, status: 404},
		{operation: "acceptInvitation", name: "not admitted", method: "POST", path: refused, status: 403,
			before: func() { r.admit = errors.New("not from there") }, after: func() { r.admit = nil }},
		{operation: "acceptInvitation", name: "not granted", method: "POST", path: broken, status: 409,
			before: func() { r.grant = errors.New("mail server down") }, after: func() { r.grant = nil }},
		{operation: "showInvitation", name: "not granted", method: "GET", path: broken, status: 409},
		{operation: "acceptInvitation", name: "store down", method: "POST", path: refused, broken: "Invitation", status: 503},
	}
	for i := range list {
		list[i].mediaType, list[i].header = htmlType, map[string]string{"Authorization": ""}
	}
	return list
}
