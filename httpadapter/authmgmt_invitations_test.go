package httpadapter_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

const viewerRole = `{"role_id":"viewer","resource":null,"resource_instance":null}`

func TestGetInvitation(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	i := r.invitation("acme", "i1", access.Role{ID: "viewer"})
	open := r.invitation("acme", "i2")
	want := func(id, url, roles string) string {
		return `{"invitation_id":"` + id + `","inviter":{"name":"Grace"},"invitee":{"email":"` + id + `@example.com","name":"Ada","roles":[` + roles + `]},` +
			`"invitation_url":"` + url + `","created_at":"2026-01-17T09:12:45.123456Z","expires_at":"2026-01-24T09:12:45.123456Z","roles":[` + roles + `]}`
	}
	for _, c := range []struct{ caller, id, want string }{
		{"full", "i1", want("i1", r.url(&i), viewerRole)},
		{"admin", "i1", want("i1", r.url(&i), viewerRole)},
		{"full", "i2", want("i2", r.url(&open), "")},
		// Whoever has the link can take the roles: those who do not hold them do not get
		// it.
		{"admin", "i2", want("i2", "", "")},
		{"invite admin", "i1", want("i1", "", viewerRole)},
		{"invite admin", "i2", want("i2", "", "")},
	} {
		w := r.as(c.caller, "GET", invitations+"/"+c.id, "")
		requireBody(t, w, http.StatusOK, c.want)
	}
	require.Empty(t, r.as("full", "HEAD", invitations+"/i1", "").Body.String())
}

// Only a pending invitation is there.
func TestInvitationThatIsNotPending(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.invitation("acme", "cancelled", access.Role{ID: "viewer"})
	w := r.as("admin", "DELETE", invitations+"/cancelled", "")
	requireBody(t, w, http.StatusOK, "")
	require.Empty(t, w.Header().Get("Content-Type"))
	accepted := r.invitation("acme", "accepted")
	_, _, err := r.service.Accept(t.Context(), r.link(&accepted), "")
	require.NoError(t, err)
	r.invitation("acme", "expired")
	r.advance(7 * 24 * time.Hour)
	for name, token := range r.tokens { // the tokens of the rig do not expire
		require.NotEmpty(t, token, name)
	}
	unknown := r.as("full", "GET", invitations+"/unknown", "")
	require.Equal(t, "There is no such pending invitation.", requireDetail(t, unknown, http.StatusNotFound))
	for _, id := range []string{"cancelled", "accepted", "expired"} {
		for _, c := range []struct{ method, path string }{{"GET", ""}, {"DELETE", ""}, {"POST", "/resend"}} {
			w := r.as("full", c.method, invitations+"/"+id+c.path, "")
			require.Equal(t, unknown.Code, w.Code, id)
			require.Equal(t, unknown.Body.String(), w.Body.String(), id)
			require.Equal(t, withoutID(unknown), withoutID(w), id)
		}
	}
	requireBody(t, r.as("full", "GET", invitations, ""), http.StatusOK, `{"data":[],"meta":{"offset":0,"limit":50,"total":0}}`)
}

// sentInvitation is what a client reads of an invitation.
type sentInvitation struct {
	ID        string          `json:"invitation_id"`
	Inviter   json.RawMessage `json:"inviter"`
	Invitee   json.RawMessage `json:"invitee"`
	URL       string          `json:"invitation_url"`
	CreatedAt time.Time       `json:"created_at"`
	ExpiresAt time.Time       `json:"expires_at"`
	Roles     json.RawMessage `json:"roles"`
}

func (r *authRig) decode(body []byte) (i sentInvitation) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal(body, &i))
	return i
}

func TestCreateInvitation(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	for n, body := range []string{
		`{"email":"ADA@example.com","name":"Ada","roles":[{"role_id":"viewer"}],"expires_in":3600,"more":1}`,
		`{"invitee":{"email":"ADA@example.com","name":"Ada","roles":[{"role_id":"viewer"}]},"expires_in":3600,"roles":null}`,
		`{"invitee":{"email":"ADA@example.com","name":"Ada","roles":[{"role_id":"viewer"}]},"expires_in":3600,"roles":[{"role_id":"viewer","resource":null}]}`,
		`{"invitee":{"email":"ADA@example.com","name":"Ada","roles":[{"role_id":"viewer"}]},"expires_in":3600,"email":null,"name":null}`,
		`{"invitee":null,"email":"ADA@example.com","name":"Ada","roles":[{"role_id":"viewer"}],"expires_in":3600}`,
	} {
		w := r.as("admin", "POST", invitations, body)
		require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
		i := r.decode(w.Body.Bytes())
		require.JSONEq(t, `{"name":"person:admin"}`, string(i.Inviter), n)
		require.JSONEq(t, `{"email":"ADA@example.com","name":"Ada","roles":[{"role_id":"viewer","resource":null,"resource_instance":null}]}`,
			string(i.Invitee), n)
		require.Equal(t, time.Hour, i.ExpiresAt.Sub(i.CreatedAt))
		require.Contains(t, i.URL, acceptURL)
		require.Equal(t, w.Body.String(), r.as("full", "GET", invitations+"/"+i.ID, "").Body.String())

		twice := r.as("full", "POST", invitations, `{"email":"ada@EXAMPLE.com","name":"Ada"}`)
		require.Equal(t, "The email address has a pending invitation. Resend or cancel that one.", requireDetail(t, twice, http.StatusConflict))
		require.Equal(t, http.StatusOK, r.as("full", "DELETE", invitations+"/"+i.ID, "").Code)
	}
	w := r.as("full", "POST", invitations, `{"email":"b@example.com","name":"B"}`)
	i := r.decode(w.Body.Bytes())
	require.Equal(t, 7*24*time.Hour, i.ExpiresAt.Sub(i.CreatedAt))
	require.JSONEq(t, `[]`, string(i.Roles))
	require.Equal(t, http.StatusCreated, r.as("full", "POST", invitations, `{"email":"c@example.com","name":"C","expires_in":2592000}`).Code)
	requireDetail(t, r.as("admin", "POST", invitations, `{"email":"d@example.com","name":"D"}`), http.StatusForbidden)
	requireDetail(t, r.as("admin", "POST", invitations, `{"email":"d@example.com","name":"D","roles":[]}`), http.StatusForbidden)
}

func TestCreateInvitationValidation(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	missing := func(loc string) detail { return detail{loc, "missing", "Field required"} }
	value := func(loc, msg string) detail { return detail{loc, "value_error", "Value error, " + msg} }
	noAddress := "must be an email address"
	const ofUpdate = "is for the update of a client; give each role its resource and resource_instance"
	stray := "must stand in invitee, or there must be no invitee"
	unknown := "is not one of the roles 'admin', 'editor', 'viewer'"
	for _, c := range []struct {
		body string
		want []detail
	}{
		{`{}`, []detail{missing("body.email"), missing("body.name")}},
		{`{"email":null,"name":3,"roles":[{"role_id":"x"}],"expires_in":0}`, []detail{
			{"body.email", "string_type", "Input should be a valid string"}, {"body.name", "string_type", "Input should be a valid string"},
			value("body.roles.0.role_id", unknown), {"body.expires_in", "greater_than_equal", "Input should be greater than or equal to 1"}}},
		{`{"email":"a@b.c","name":"A","expires_in":2592001}`, []detail{{"body.expires_in", "less_than_equal", "Input should be less than or equal to 2592000"}}},
		{`{"email":"a@b.c","name":"A","expires_in":1e3}`, []detail{{"body.expires_in", "int_type", "Input should be a valid integer"}}},
		{`{"email":"","name":""}`, []detail{
			{"body.email", "string_too_short", "String should have at least 1 character"}, {"body.name", "string_too_short", "String should have at least 1 character"}}},
		{`{"email":"a\u0000@b.c","name":"A\u0000"}`, []detail{value("body.email", "must not contain U+0000"), value("body.name", "must not contain U+0000")}},
		{`{"email":"nobody","name":"A"}`, []detail{value("body.email", noAddress)}},
		{`{"email":"a@b@c","name":"A"}`, []detail{value("body.email", noAddress)}},
		{`{"email":"a@b.c\nBcc: x@y.z","name":"A"}`, []detail{value("body.email", noAddress)}},
		{`{"email":"a@b.c\r\nBcc","name":"A"}`, []detail{value("body.email", noAddress)}},
		{`{"invitee":{"email":"nobody","name":"A"}}`, []detail{value("body.invitee.email", noAddress)}},
		{`{"invitee":{"name":""},"email":"a@b.c"}`, []detail{
			missing("body.invitee.email"), {"body.invitee.name", "string_too_short", "String should have at least 1 character"}, value("body.email", stray)}},
		{`{"invitee":{"email":"a@b.c","name":"A"},"email":"a@b.c","name":"A"}`, []detail{value("body.email", stray), value("body.name", stray)}},
		// Passed over, these roles would have made an invitation with full access.
		{`{"invitee":{"email":"a@b.c","name":"A"},"roles":[{"role_id":"viewer"}]}`, []detail{value("body.roles", "must be those of invitee, or not be there")}},
		{`{"invitee":{"email":"a@b.c","name":"A"},"roles":[{"role_id":"x"}]}`, []detail{value("body.roles.0.role_id", unknown)}},
		// So would a context, which would have bound them.
		{`{"email":"a@b.c","name":"A","roles":[{"role_id":"viewer"}],"roles_context":"dataset:d1"}`, []detail{value("body.roles_context", ofUpdate)}},
		{`{"invitee":{"email":"a@b.c","name":"A","roles_context":"system"},"roles_context":7}`,
			[]detail{value("body.invitee.roles_context", ofUpdate), value("body.roles_context", ofUpdate)}},
		{`{"invitee":"A"}`, []detail{{"body.invitee", "model_attributes_type", "Input should be a valid dictionary or object to extract fields from"}}},
		{`{"invitee":{"email":"a@b.c","name":"A","roles":{}}}`, []detail{{"body.invitee.roles", "list_type", "Input should be a valid list"}}},
		{`{"email":"a@b.c","name":"A"`, []detail{{"body.27", "json_invalid", "JSON decode error"}}},
	} {
		for _, caller := range []string{"full", "viewer"} { // fields come before authorization
			requireDetails(t, r.as(caller, "POST", invitations, c.body), c.want...)
		}
	}
	requireBody(t, r.as("full", "GET", invitations, ""), http.StatusOK, `{"data":[],"meta":{"offset":0,"limit":50,"total":0}}`)
	requireDetails(t, r.as("viewer", "GET", invitations+"?limit=0", ""), detail{"query.limit", "greater_than_equal", "Input should be greater than or equal to 1"})
	bad := detail{"path.invitation_id", "value_error", "Value error, must be at most 255 bytes"}
	for _, c := range []struct{ method, after string }{{"GET", ""}, {"DELETE", ""}, {"POST", "/resend"}} {
		requireDetails(t, r.as("viewer", c.method, invitations+"/"+strings.Repeat("i", 256)+c.after, ""), bad)
	}
}

func TestListAndResendInvitations(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	first := r.invitation("acme", "i1", access.Role{ID: "viewer"})
	r.advance(time.Second)
	r.invitation("acme", "i2")
	r.invitation("rival", "i3")
	second := r.as("admin", "GET", invitations+"/i2", "").Body.String()
	one := r.as("admin", "GET", invitations+"/i1", "").Body.String()
	w := r.as("admin", "GET", invitations, "")
	requireBody(t, w, http.StatusOK, `{"data":[`+second+`,`+one+`],"meta":{"offset":0,"limit":50,"total":2}}`)
	require.Contains(t, second, `"invitation_url":""`, "the caller does not hold what it gives")
	require.Contains(t, one, r.url(&first))
	requireBody(t, r.as("admin", "GET", invitations+"?offset=1&limit=1", ""), http.StatusOK, `{"data":[`+one+`],"meta":{"offset":1,"limit":1,"total":2}}`)

	w = r.as("admin", "POST", invitations+"/i1/resend", "")
	require.Equal(t, http.StatusOK, w.Code)
	again := r.decode(w.Body.Bytes())
	require.NotEqual(t, r.url(&first), again.URL)
	require.Equal(t, begin.Add(7*24*time.Hour+time.Second), again.ExpiresAt)
	_, err := r.service.InvitationByLink(t.Context(), r.link(&first))
	require.ErrorIs(t, err, mortise.ErrNotFound)
	requireDetail(t, r.as("admin", "POST", invitations+"/i2/resend", ""), http.StatusForbidden)
	requireDetail(t, r.as("invite admin", "POST", invitations+"/i1/resend", ""), http.StatusForbidden)
}

// TestListInvitationsOfAnInviter: the parameter is the name that an invitation shows its
// inviter by.
func TestListInvitationsOfAnInviter(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	of := make(map[string]string)
	for caller, email := range map[string]string{"admin": "ada@example.com", "full": "alan@example.com"} {
		w := r.as(caller, "POST", invitations, `{"email":"`+email+`","name":"A","roles":[{"role_id":"viewer"}]}`)
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
		var shown struct {
			Inviter struct{ Name string }
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &shown))
		of[shown.Inviter.Name] = w.Body.String()
	}
	require.Len(t, of, 2)
	for inviter, want := range of {
		w := r.as("full", "GET", invitations+"?inviter="+url.QueryEscape(inviter), "")
		requireBody(t, w, http.StatusOK, `{"data":[`+want+`],"meta":{"offset":0,"limit":50,"total":1}}`)
	}
	requireBody(t, r.as("full", "GET", invitations+"?inviter=unknown", ""), http.StatusOK, `{"data":[],"meta":{"offset":0,"limit":50,"total":0}}`)
}

// A host may name nobody, and may have no invitations.
func TestInvitationsOfHosts(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	nameless := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	})
	h, err := httpadapter.NewAuthMgmt(r.service, nameless, &httpadapter.AuthMgmtOptions{Invitations: true})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	request := httptest.NewRequest("POST", invitations, strings.NewReader(`{"email":"ada@example.com","name":"Ada"}`))
	request.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, request)
	require.Equal(t, http.StatusCreated, w.Code)
	require.JSONEq(t, `{"name":"an administrator"}`, string(r.decode(w.Body.Bytes()).Inviter))

	without, err := authmgmt.New(authmgmt.Backend{Store: r.store}, nil)
	require.NoError(t, err)
	for _, opts := range []httpadapter.AuthMgmtOptions{{Invitations: true}, {AcceptPage: true}} {
		_, err = httpadapter.NewAuthMgmt(without, nameless, &opts)
		require.ErrorContains(t, err, "AcceptURL")
	}
	_, err = httpadapter.NewAuthMgmt(without, nameless, &httpadapter.AuthMgmtOptions{Clients: true, Login: true})
	require.NoError(t, err)
}
