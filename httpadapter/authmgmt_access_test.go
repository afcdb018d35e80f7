package httpadapter_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// managementRequest is a valid request for each operation that roles govern. {id} stands
// for a client, an invitation or a token, and {secret} for a secret of the client.
type managementRequest struct {
	operation, method, path, body string
	changes                       bool
	broken                        string // the method of the store that it needs
}

var managementRequests = []managementRequest{
	{"updateClient", "PUT", clients + "/{id}", `{"roles":[{"role_id":"viewer"}]}`, true, "UpdateClient"},
	{"getUserInvitation", "GET", invitations + "/{id}", "", false, "Invitation"},
	{"deleteUserInvitation", "DELETE", invitations + "/{id}", "", true, "UpdateInvitation"},
	{"createClient", "POST", clients, `{"name":"x","roles":[{"role_id":"viewer"}]}`, true, "CreateClient"},
	{"listClients", "GET", clients, "", false, "ListClients"},
	{"getClient", "GET", clients + "/{id}", "", false, "Client"},
	{"deleteClient", "DELETE", clients + "/{id}", "", true, "UpdateClient"},
	{"rotateClientSecret", "POST", clients + "/{id}/rotate-secret", "", true, "UpdateClient"},
	{"listClientSecrets", "GET", clients + "/{id}/secrets", "", false, "Client"},
	{"revokeClientSecret", "DELETE", clients + "/{id}/secrets/{secret}", "", true, "UpdateClient"},
	{"createUserInvitation", "POST", invitations, `{"email":"a@example.com","name":"A","roles":[{"role_id":"viewer"}]}`, true, "CreateInvitation"},
	{"listUserInvitations", "GET", invitations, "", false, "ListInvitations"},
	{"resendUserInvitation", "POST", invitations + "/{id}/resend", "", true, "UpdateInvitation"},
	{"listTokens", "GET", issued, "", false, "ListTokens"},
	{"revokeToken", "DELETE", issued + "/{id}", "", true, "UpdateToken"},
}

func (m managementRequest) send(r *authRig, caller, id string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	return r.as(caller, m.method, m.target(r, id), m.body, edits...)
}

// target is the path with an ID. The ID of a token is made of it, unless it is too long for
// any ID. So is the ID of a secret, if there is no such client.
func (m managementRequest) target(r *authRig, id string) string {
	secret := tokenID(id)
	for _, org := range []string{"acme", "rival"} {
		if c, err := r.service.Client(r.t.Context(), org, id); err == nil && len(c.Secrets) > 0 {
			secret = c.Secrets[0].ID
		}
	}
	if strings.HasPrefix(m.path, issued) && len(id) < 256 {
		id = tokenID(id).String()
	}
	return strings.NewReplacer("{id}", id, "{secret}", secret.String()).Replace(m.path)
}

func (m managementRequest) hasID() bool { return strings.Contains(m.path, "{id}") }

func TestManagementRequestsAreAll(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	var got, want []string
	for _, route := range r.handler.Routes() {
		if !slices.Contains([]string{"showInvitation", "acceptInvitation", "login"}, route.ID) {
			got = append(got, route.ID+" "+route.Method)
		}
	}
	for _, m := range managementRequests {
		want = append(want, m.operation+" "+m.method)
	}
	require.Equal(t, want, got)
	plain := newAuthRig(t, &httpadapter.AuthMgmtOptions{}, nil)
	got = nil
	for _, route := range plain.handler.Routes() {
		got = append(got, route.ID)
	}
	require.Equal(t, []string{"updateClient", "getUserInvitation", "deleteUserInvitation"}, got)
}

func TestRolesGovern(t *testing.T) {
	mayClients, mayInvitations := []string{"full", "admin", "client admin", "both admins"}, []string{"full", "admin", "invite admin"}
	for _, m := range managementRequests {
		t.Run(m.operation, func(t *testing.T) {
			r := newAuthRig(t, nil, nil)
			for caller := range callers {
				id := strings.ReplaceAll(caller, " ", "-")
				r.client("acme", id, access.Role{ID: "viewer"})
				r.invitation("acme", id, access.Role{ID: "viewer"})
				r.token("acme", id, access.Role{ID: "viewer"})
				may := mayClients
				if strings.HasPrefix(m.path, invitations) {
					may = mayInvitations
				}
				w := m.send(r, caller, id)
				switch {
				case caller == "rival":
					require.NotEqual(t, http.StatusForbidden, w.Code)
				case !slices.Contains(may, caller):
					require.Equal(t, "These credentials do not allow this operation.", requireDetail(t, w, http.StatusForbidden), caller)
				case caller == "invite admin" && m.changes && m.operation != "deleteUserInvitation",
					caller == "client admin" && m.changes && m.operation != "updateClient":
					require.Contains(t, requireDetail(t, w, http.StatusForbidden), "do not hold what the change would give", caller)
				default:
					require.Less(t, w.Code, 300, "%s: %s", caller, w.Body)
					require.Equal(t, http.StatusOK, r.as("full", "GET", clients, "").Code)
					if m.operation == "createUserInvitation" {
						require.Equal(t, http.StatusOK, r.as("full", "DELETE", invitations+"/"+r.decode(w.Body.Bytes()).ID, "").Code)
					}
				}
				if caller == "viewer" || caller == "editor" || caller == "bound admin" {
					c, err := r.service.Client(t.Context(), "acme", id)
					require.NoError(t, err, "nothing has changed")
					require.Equal(t, []access.Role{{ID: "viewer"}}, c.Roles)
					i, err := r.service.Invitation(t.Context(), "acme", id)
					require.NoError(t, err)
					require.Equal(t, "Ada", i.Name)
				}
			}
		})
	}
}

// What belongs to another organization is answered like what does not exist, down to the
// last byte.
func TestOtherOrganizationIsUnknown(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.client("rival", "theirs", access.Role{ID: "viewer"})
	r.invitation("rival", "theirs", access.Role{ID: "viewer"})
	r.token("rival", "theirs", access.Role{ID: "viewer"})
	for _, m := range managementRequests {
		if !m.hasID() {
			continue
		}
		for caller := range callers {
			unknown := m.send(r, caller, "unknown")
			theirs := m.send(r, caller, "theirs")
			if caller == "rival" {
				require.Equal(t, http.StatusNotFound, unknown.Code)
				continue
			}
			require.Contains(t, []int{http.StatusNotFound, http.StatusForbidden}, unknown.Code)
			require.Equal(t, unknown.Code, theirs.Code, m.operation)
			require.Equal(t, unknown.Body.String(), theirs.Body.String(), m.operation)
			require.Equal(t, withoutID(unknown), withoutID(theirs), m.operation)
		}
	}
	for _, path := range []string{clients, invitations} {
		requireBody(t, r.as("full", "GET", path, ""), http.StatusOK, `{"data":[],"meta":{"offset":0,"limit":50,"total":0}}`)
	}
}

// A request in which everything is wrong; one thing after the other is put right.
func TestAuthMgmtOrderOfChecks(t *testing.T) {
	for _, m := range managementRequests {
		t.Run(m.operation, func(t *testing.T) {
			r := newAuthRig(t, nil, nil)
			broken := m.body != ""
			text := header("Content-Type", "text/plain")
			long := strings.Repeat("x", 1<<20+1)
			id, badID := "theirs", strings.Repeat("i", 256)
			r.client("rival", "theirs")
			r.invitation("rival", "theirs")
			r.token("rival", "theirs")
			wrong := m
			wrong.body = long
			r.faults(m.broken)

			w := wrong.send(r, "", badID, text)
			require.Equal(t, "The access token is missing, invalid, expired or revoked.", requireDetail(t, w, http.StatusUnauthorized))
			require.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
			patch := m
			patch.method = "PATCH"
			requireDetail(t, patch.send(r, "", badID, text), http.StatusUnauthorized)
			w = patch.send(r, "viewer", badID, text)
			requireDetail(t, w, http.StatusMethodNotAllowed)
			require.Contains(t, w.Header().Get("Allow"), m.method)
			if broken {
				requireDetail(t, wrong.send(r, "viewer", badID, text), http.StatusUnsupportedMediaType)
				requireDetail(t, wrong.send(r, "viewer", badID), http.StatusRequestEntityTooLarge)
				wrong.body = `{"name":7,`
				requireDetails(t, wrong.send(r, "viewer", badID), detail{"body.10", "json_invalid", "JSON decode error"})
			}
			if m.hasID() {
				got := details(t, m.send(r, "viewer", badID).Body.Bytes())
				require.Len(t, got, 1)
				require.Contains(t, got[0].loc, "path.")
			}
			if broken {
				wrong.body = `{"name":7,"email":7}`
				got := details(t, wrong.send(r, "viewer", id).Body.Bytes())
				require.Contains(t, got, detail{"body.name", "string_type", "Input should be a valid string"})
			}
			requireDetail(t, m.send(r, "viewer", id), http.StatusForbidden)
			if m.body != "" {
				rbac(r, false)
				require.Contains(t, requireDetail(t, m.send(r, "admin", id), http.StatusForbidden), "role-based")
				rbac(r, true)
			}
			require.Equal(t, "The service is temporarily unavailable. Send the request again later.",
				requireDetail(t, m.send(r, "admin", id), http.StatusServiceUnavailable))
			r.faults()
			if m.hasID() {
				requireDetail(t, m.send(r, "admin", id), http.StatusNotFound)
			} else {
				require.Less(t, m.send(r, "admin", id).Code, 300)
			}
		})
	}
}

func rbac(r *authRig, enabled bool) {
	r.t.Helper()
	require.NoError(r.t, r.service.SetRBAC(r.t.Context(), "acme", root, enabled))
}

func TestRolesNeedRBAC(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.client("acme", "c1", access.Role{ID: "editor"})
	rbac(r, false)
	const text = "The organization has no role-based access control, so no roles can be assigned."
	for _, m := range managementRequests {
		if m.body == "" {
			continue
		}
		require.Equal(t, text, requireDetail(t, m.send(r, "full", "c1"), http.StatusForbidden))
		require.Equal(t, text, requireDetail(t, m.send(r, "full", "unknown"), http.StatusForbidden))
	}
	require.Equal(t, http.StatusOK, r.as("full", "PUT", clients+"/c1", `{"name":"x","roles":[{"role_id":"editor"}]}`).Code, "the roles stay")
	require.Equal(t, []access.Role{{ID: "editor"}}, r.roles("acme", "c1"))
	require.Equal(t, http.StatusOK, r.as("full", "PUT", clients+"/c1", `{"name":"x"}`).Code, "no roles need none")
	require.Equal(t, http.StatusCreated, r.as("full", "POST", clients, `{"name":"x","roles":[]}`).Code)
	r.faults("AccessControl")
	requireDetail(t, r.as("full", "PUT", clients+"/c1", `{"roles":[{"role_id":"viewer"}]}`), http.StatusServiceUnavailable)
}

// An admin can do everything that the catalogue is about, but full access is more, and
// only full access gives it.
func TestLastRoleNeedsFullAccess(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	for _, c := range []struct {
		roles []access.Role
		body  string
		full  bool
	}{
		{[]access.Role{viewerOf("d1")}, `{}`, true},
		{[]access.Role{viewerOf("d1")}, `{"roles":null,"name":"x"}`, true},
		{[]access.Role{viewerOf("d1")}, `{"roles":[],"roles_context":"dataset:d1"}`, true},
		{[]access.Role{{ID: "viewer"}}, `{"roles_context":"system"}`, true},
		{nil, `{"name":"x"}`, true}, // it has full access already, and would keep it
		{nil, `{"roles_context":"dataset:d1"}`, true},
		{[]access.Role{viewerOf("d1")}, `{"roles":[],"roles_context":"dataset:d2"}`, false},
		{[]access.Role{viewerOf("d1"), {ID: "viewer"}}, `{"roles":[],"roles_context":"dataset:d1"}`, false},
		// Less than it has, and the caller cannot take full access away.
		{nil, `{"roles":[{"role_id":"admin"}]}`, true},
		{[]access.Role{{ID: "editor"}}, `{"roles":[{"role_id":"admin"}]}`, false},
	} {
		id := fmt.Sprintf("c%d", len(r.bodySeen))
		r.client("acme", id, c.roles...)
		w := r.as("admin", "PUT", clients+"/"+id, c.body)
		if !c.full {
			require.Equal(t, http.StatusOK, w.Code, "%+v %s: %s", c.roles, c.body, w.Body)
			continue
		}
		require.Contains(t, requireDetail(t, w, http.StatusForbidden), "do not hold", c.body)
		require.Equal(t, c.roles, r.roles("acme", id))
		require.Equal(t, http.StatusOK, r.as("full", "PUT", clients+"/"+id, c.body).Code)
		if strings.Contains(c.body, "admin") {
			require.Equal(t, []access.Role{{ID: "admin"}}, r.roles("acme", id))
			continue
		}
		require.Empty(t, r.roles("acme", id))
	}
}

// Nobody gives what they do not hold, not even to themselves: all callers, all bodies,
// several clients that they could change.
func TestNobodyWidensAnybody(t *testing.T) {
	assignments := []string{
		``, `{"role_id":"admin"}`, `{"role_id":"editor"}`, `{"role_id":"viewer"}`, `{"role_id":"admin","resource":"dataset"}`,
		`{"role_id":"admin","resource":"dataset","resource_instance":"d1"}`, `{"role_id":"viewer","resource":"dataset","resource_instance":"d2"}`,
		`{"role_id":"admin","resource":"client"}`, `{"role_id":"viewer","resource":"client"}`, `{"role_id":"viewer"},{"role_id":"admin","resource":"vault"}`,
	}
	var bodies []string
	for _, context := range []string{``, `,"roles_context":"system"`, `,"roles_context":"dataset:d1"`} {
		for _, list := range assignments {
			bodies = append(bodies, `{"roles":[`+list+`]`+context+`}`)
		}
	}
	targets := map[string][]access.Role{"open": nil, "viewer": {{ID: "viewer"}}, "bound": {viewerOf("d1"), viewerOf("d2")}}
	catalogue := access.DefaultCatalogue()
	changed := make(map[string]int)
	for caller, roles := range callers {
		if caller == "rival" {
			continue
		}
		allowed := catalogue.Access(roles...)
		if roles == nil {
			allowed = access.Full()
		}
		r := newAuthRig(t, nil, nil)
		targets["self"] = roles
		for target, had := range targets {
			for n, body := range bodies {
				id := fmt.Sprintf("%s-%d", target, n)
				secret := r.client("acme", id, had...)
				if target == "self" { // the caller is the client that is changed
					_, token, err := r.service.Login(t.Context(), id, secret)
					require.NoError(t, err)
					r.tokens["self"] = token.Reveal()
				}
				as := caller
				if target == "self" {
					as = "self"
				}
				w := r.as(as, "PUT", clients+"/"+id, body)
				has := r.roles("acme", id)
				switch w.Code {
				case http.StatusOK:
					changed[caller]++
					fresh := slices.DeleteFunc(slices.Clone(has), func(r access.Role) bool { return slices.Contains(had, r) })
					require.True(t, len(fresh) == 0 || allowed.Covers(fresh), "%s gave %+v to %s", caller, fresh, target)
					require.True(t, len(has) > 0 || allowed.Full(), "%s opened %s", caller, target)
					gone := slices.DeleteFunc(slices.Clone(had), func(r access.Role) bool { return slices.Contains(has, r) })
					require.True(t, len(gone) == 0 || allowed.Covers(gone), "%s took %+v from %s", caller, gone, target)
					require.True(t, len(had) > 0 || allowed.Full(), "%s narrowed %s", caller, target)
				case http.StatusForbidden:
					require.Equal(t, had, has)
				default:
					require.Equal(t, http.StatusUnprocessableEntity, w.Code)
					require.Equal(t, had, has)
				}
			}
		}
	}
	for _, caller := range []string{"viewer", "editor", "bound admin", "invite admin"} {
		require.Zero(t, changed[caller], caller)
	}
	require.NotZero(t, changed["client admin"])
	require.Greater(t, changed["admin"], changed["client admin"])
	require.Greater(t, changed["full"], changed["admin"])
}
