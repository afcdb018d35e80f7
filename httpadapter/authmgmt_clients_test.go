package httpadapter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

func viewerOf(dataset string) access.Role {
	return access.Role{ID: "viewer", Resource: "dataset", ResourceInstance: dataset}
}

func TestUpdateClient(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	editor, d1, d2 := access.Role{ID: "editor"}, viewerOf("d1"), viewerOf("d2")
	r.client("acme", "c1", editor, d1, d2)
	const head = `{"client_id":"c1","client_secret":"","name":`
	const sys = `{"role_id":"editor","resource":null,"resource_instance":null}`
	const ds = `{"role_id":"viewer","resource":"dataset","resource_instance":"d1"}`
	for _, c := range []struct {
		body, answer string
		roles        []access.Role
	}{
		{`{"name":"New","roles":[{"role_id":"editor"}],"ignored":[1,{"a":null}]}`, `"New","roles":[` + sys + `]}`, []access.Role{editor}},
		{`{"name":null,"roles":[{"role_id":"viewer","resource":"dataset","resource_instance":"d1"},{"role_id":"editor","resource":null,"resource_instance":null}]}`,
			`"New","roles":[` + ds + `,` + sys + `]}`, []access.Role{d1, editor}},
		{`{"roles":[{"role_id":"viewer"}],"roles_context":"dataset:d2"}`,
			`"New","roles":[` + ds + `,` + sys + `,{"role_id":"viewer","resource":"dataset","resource_instance":"d2"}]}`, []access.Role{d1, editor, d2}},
		{`{"roles":[{"role_id":"editor"},{"role_id":"editor"}],"roles_context":"system"}`,
			`"New","roles":[` + ds + `,{"role_id":"viewer","resource":"dataset","resource_instance":"d2"},` + sys + `]}`, []access.Role{d1, d2, editor}},
		{`{"roles":[],"roles_context":"dataset:d2"}`, `"New","roles":[` + ds + `,` + sys + `]}`, []access.Role{d1, editor}},
		{`{"roles_context":"system"}`, `"New","roles":[` + ds + `]}`, []access.Role{d1}},
		{`{"roles":null,"roles_context":"dataset:unknown"}`, `"New","roles":[` + ds + `]}`, []access.Role{d1}},
		{`{"roles":null,"roles_context":null,"name":"<é&\u0041>"}`, `"<é&A>","roles":[]}`, nil},
		{`{"roles":[{"role_id":"viewer","resource":"dataset"}]}`, `"<é&A>","roles":[{"role_id":"viewer","resource":"dataset","resource_instance":null}]}`,
			[]access.Role{{ID: "viewer", Resource: "dataset"}}},
		{`{"roles":[]}`, `"<é&A>","roles":[]}`, nil},
		{`{"roles":[{"role_id":"editor"}]}`, `"<é&A>","roles":[` + sys + `]}`, []access.Role{editor}},
		{`{}`, `"<é&A>","roles":[]}`, nil},
	} {
		requireBody(t, r.as("full", "PUT", clients+"/c1", c.body), http.StatusOK, head+c.answer)
		require.Equal(t, c.roles, r.roles("acme", "c1"), c.body)
	}

	r.client("acme", "odd/client?id=%41 \u202eé")
	w := r.as("full", "PUT", clients+"/"+url.PathEscape("odd/client?id=%41 \u202eé"), `{"name":"x"}`)
	requireBody(t, w, http.StatusOK, `{"client_id":"odd/client?id=%41 `+"\u202eé"+`","client_secret":"","name":"x","roles":[]}`)
}

func TestUpdateClientValidation(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.client("acme", "c1", access.Role{ID: "viewer"})
	noString := func(loc string) detail { return detail{loc, "string_type", "Input should be a valid string"} }
	value := func(loc, msg string) detail { return detail{loc, "value_error", "Value error, " + msg} }
	short := func(loc string) detail {
		return detail{loc, "string_too_short", "String should have at least 1 character"}
	}
	unknown := func(loc string) detail {
		return value(loc, "is not one of the roles 'admin', 'editor', 'viewer'")
	}
	noObject := func(loc string) detail {
		return detail{loc, "model_attributes_type", "Input should be a valid dictionary or object to extract fields from"}
	}
	missing := func(loc string) detail { return detail{loc, "missing", "Field required"} }
	badContext := value("body.roles_context", "must be system or dataset:{dataset_id}")
	many := `{"roles":[` + strings.TrimSuffix(strings.Repeat(`{"role_id":"viewer"},`, 101), ",") + `]}`
	for _, c := range []struct {
		body string
		want []detail
	}{
		{``, []detail{missing("body")}},
		{`null`, []detail{missing("body")}},
		{`[]`, []detail{noObject("body")}},
		{`{"name": x}`, []detail{{"body.9", "json_invalid", "JSON decode error"}}},
		{`{"name":"a","name":"b"}`, []detail{{"body.12", "json_invalid", "JSON decode error: duplicate key"}}},
		{`{"roles":[{"role_id":"viewer","role_id":"admin"}]}`, []detail{{"body.30", "json_invalid", "JSON decode error: duplicate key"}}},
		{`{"name":""}`, []detail{short("body.name")}},
		{`{"name":7}`, []detail{noString("body.name")}},
		{`{"name":"` + strings.Repeat("é", 256) + `"}`, []detail{{"body.name", "string_too_long", "String should have at most 255 characters"}}},
		{`{"name":"` + strings.Repeat("é", 128) + `"}`, []detail{value("body.name", "must be at most 255 bytes")}},
		{`{"name":"a\u0000b"}`, []detail{value("body.name", "must not contain U+0000")}},
		{`{"roles":{}}`, []detail{{"body.roles", "list_type", "Input should be a valid list"}}},
		{`{"roles":"viewer"}`, []detail{{"body.roles", "list_type", "Input should be a valid list"}}},
		{many, []detail{{"body.roles", "too_long", "List should have at most 100 items after validation, not 101"}}},
		{`{"roles":["viewer",null]}`, []detail{noObject("body.roles.0"), noObject("body.roles.1")}},
		{`{"roles":[{}]}`, []detail{missing("body.roles.0.role_id")}},
		{`{"roles":[{"role_id":null,"resource":1,"resource_instance":[]}]}`,
			[]detail{noString("body.roles.0.role_id"), noString("body.roles.0.resource"), noString("body.roles.0.resource_instance")}},
		{`{"roles":[{"role_id":"","resource":"","resource_instance":""}]}`,
			[]detail{short("body.roles.0.role_id"), short("body.roles.0.resource"), short("body.roles.0.resource_instance")}},
		{`{"roles":[{"role_id":"viewer"},{"role_id":"Viewer"},{"role_id":"*"}]}`, []detail{unknown("body.roles.1.role_id"), unknown("body.roles.2.role_id")}},
		{`{"roles":[{"role_id":"viewer\u0000"}]}`, []detail{unknown("body.roles.0.role_id")}},
		{`{"roles":[{"role_id":"viewer","resource":"a\u0000"}]}`, []detail{value("body.roles.0.resource", "must not contain U+0000")}},
		{`{"roles":[{"role_id":"viewer","resource":"dataset","resource_instance":"` + strings.Repeat("d", 256) + `"}]}`,
			[]detail{value("body.roles.0.resource_instance", "must be at most 255 bytes")}},
		{`{"roles":[{"role_id":"viewer","resource_instance":"d1"}]}`,
			[]detail{value("body.roles.0.resource_instance", "needs a resource, which says what it is an instance of")}},
		{`{"roles":[{"role_id":"viewer","resource":3,"resource_instance":"d1"}]}`, []detail{noString("body.roles.0.resource")}},
		{`{"roles_context":3}`, []detail{noString("body.roles_context")}},
		{`{"roles_context":""}`, []detail{badContext}},
		{`{"roles_context":"System"}`, []detail{badContext}},
		{`{"roles_context":"dataset:"}`, []detail{badContext}},
		{`{"roles_context":"dataset:\u0000"}`, []detail{badContext}},
		{`{"roles_context":"vault:v1"}`, []detail{badContext}},
		{`{"roles":[{"role_id":"viewer"},{"role_id":"viewer","resource":"dataset"}],"roles_context":"system"}`,
			[]detail{value("body.roles.1.resource", "must be null for system-level roles")}},
		{`{"roles":[{"role_id":"viewer","resource":"vault"},{"role_id":"viewer","resource":"dataset","resource_instance":"d2"}],"roles_context":"dataset:d1"}`,
			[]detail{value("body.roles.0.resource", "must be dataset, or null, for the roles of a dataset"),
				value("body.roles.1.resource_instance", "must be the dataset of roles_context, or null")}},

		// Everything at once: the fields in the order of the document, then what contradicts the context.
		{`{"roles_context":"system","roles":[{"role_id":"viewer","resource":"vault"},{"role_id":"none"}],"name":7}`,
			[]detail{noString("body.name"), unknown("body.roles.1.role_id"), value("body.roles.0.resource", "must be null for system-level roles")}},
		{`{"roles_context":"x","roles":[{"role_id":"viewer","resource":"vault"},{"role_id":"none"}],"name":"\u0000"}`,
			[]detail{value("body.name", "must not contain U+0000"), unknown("body.roles.1.role_id"), badContext}},
	} {
		for _, caller := range []string{"full", "viewer"} { // before authorization
			requireDetails(t, r.as(caller, "PUT", clients+"/c1", c.body, header("Content-Type", "application/json")), c.want...)
		}
	}
	for id, msg := range map[string]string{
		"a%00b": "must not contain U+0000", "%ff": "must be valid UTF-8", strings.Repeat("c", 256): "must be at most 255 bytes",
	} {
		bad := detail{"path.client_id", "value_error", "Value error, " + msg}
		requireDetails(t, r.as("viewer", "PUT", clients+"/"+id, `{"name":1}`), bad, noString("body.name"))
		requireDetails(t, r.as("viewer", "PUT", clients+"/"+id, `{`), detail{"body.1", "json_invalid", "JSON decode error"})
		requireDetails(t, r.as("viewer", "GET", clients+"/"+id, ``), bad)
		requireDetails(t, r.as("viewer", "DELETE", clients+"/"+id, ``), bad)
		requireDetails(t, r.as("viewer", "POST", clients+"/"+id+"/rotate-secret", `{"overlap_seconds":"1"}`), bad,
			detail{"body.overlap_seconds", "int_type", "Input should be a valid integer"})
	}
	require.Equal(t, []access.Role{{ID: "viewer"}}, r.roles("acme", "c1"), "a refused request changes nothing")
}

// TestUpdateClientOfNoDataset: a context names a dataset of the caller's organization, if the
// host can tell.
func TestUpdateClientOfNoDataset(t *testing.T) {
	r := newAuthRig(t, nil, &authmgmt.Options{HasDataset: func(_ context.Context, org, id string) (bool, error) {
		return org == "acme" && id == "birds" || org == "rival" && id == "whales", nil
	}})
	r.client("acme", "c1", access.Role{ID: "editor"})
	for _, roles := range []string{`[{"role_id":"viewer"}]`, `[]`} {
		requireDetails(t, r.as("full", "PUT", clients+"/c1", `{"roles":`+roles+`,"roles_context":"dataset:whales"}`),
			detail{"body.roles_context", "value_error", "Value error, must name a dataset that the organization has"})
	}
	w := r.as("full", "PUT", clients+"/c1", `{"roles":[{"role_id":"viewer"}],"roles_context":"dataset:birds"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"resource_instance":"birds"`)
}

// The roles of other contexts count too, which only the service can know.
func TestUpdateClientWithTooManyRolesTogether(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.client("acme", "c1", access.Role{ID: "viewer"})
	var b strings.Builder
	for i := range 100 {
		b.WriteString(`,{"role_id":"viewer","resource":"dataset","resource_instance":"` + strconv.Itoa(i) + `"}`)
	}
	requireBody(t, r.as("full", "PUT", clients+"/c1", `{"roles":[`+b.String()[1:]+`]}`), http.StatusOK, r.as("full", "GET", clients+"/c1", "").Body.String())
	requireDetails(t, r.as("full", "PUT", clients+"/c1", `{"roles":[{"role_id":"viewer"}],"roles_context":"system"}`),
		detail{"body.roles", "value_error", "Value error, must be at most 100, those of other contexts included"})
}

func TestAtMostHundredProblemsOfRoles(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	roles := strings.TrimSuffix(strings.Repeat(`{"role_id":1,"resource":2,"resource_instance":3},`, 100), ",")
	got := details(t, r.as("full", "PUT", clients+"/c1", `{"roles":[`+roles+`],"roles_context":4}`).Body.Bytes())
	require.Len(t, got, 100)
	require.Equal(t, "body.roles.33.role_id", got[99].loc)
}

func (r *authRig) credentials(body []byte) (id, secret string) {
	r.t.Helper()
	var c struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	require.NoError(r.t, json.Unmarshal(body, &c))
	return c.ID, c.Secret
}

// logsIn reports whether a client can get a token.
func (r *authRig) logsIn(id, secret string) bool {
	r.t.Helper()
	w := r.as("", "POST", login, `{"grant_type":"client_credentials","client_id":"`+id+`","client_secret":"`+secret+`"}`)
	require.Contains(r.t, []int{http.StatusOK, http.StatusUnauthorized}, w.Code)
	return w.Code == http.StatusOK
}

func TestCreateAndReadClients(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	requireBody(t, r.as("full", "GET", clients, ""), http.StatusOK, `{"data":[],"meta":{"offset":0,"limit":50,"total":0}}`)
	w := r.as("full", "POST", clients, `{"name":"CI","roles":[{"role_id":"viewer"}],"client_id":"ignored"}`)
	id, secret := r.credentials(w.Body.Bytes())
	want := `{"client_id":"` + id + `","client_secret":"","name":"CI","roles":[{"role_id":"viewer","resource":null,"resource_instance":null}]}`
	requireBody(t, w, http.StatusCreated, strings.Replace(want, `"client_secret":""`, `"client_secret":"`+secret+`"`, 1))
	require.Greater(t, len(secret), 64)
	require.True(t, r.logsIn(id, secret))
	requireBody(t, r.as("full", "GET", clients+"/"+id, ""), http.StatusOK, want)
	requireBody(t, r.as("admin", "GET", clients, ""), http.StatusOK, `{"data":[`+want+`],"meta":{"offset":0,"limit":50,"total":1}}`)
	for _, body := range []string{`{"name":"all"}`, `{"name":"all","roles":null}`, `{"name":"all","roles":[]}`} {
		r.advance(time.Second)
		require.Equal(t, http.StatusCreated, r.as("full", "POST", clients, body).Code)
		requireDetail(t, r.as("admin", "POST", clients, body), http.StatusForbidden)
	}
	requireBody(t, r.as("full", "GET", clients+"?offset=4", ""), http.StatusOK, `{"data":[],"meta":{"offset":4,"limit":50,"total":4}}`)
	requireBody(t, r.as("full", "GET", clients+"?offset=10000&limit=1000", ""), http.StatusOK, `{"data":[],"meta":{"offset":10000,"limit":1000,"total":4}}`)
	requireBody(t, r.as("full", "GET", clients+"?limit=1", ""), http.StatusOK, `{"data":[`+want+`],"meta":{"offset":0,"limit":1,"total":4}}`)
	require.Empty(t, r.as("full", "HEAD", clients, "").Body.String())

	requireDetails(t, r.as("viewer", "POST", clients, `{}`), detail{"body.name", "missing", "Field required"})
	requireDetails(t, r.as("viewer", "POST", clients, `{"name":null,"roles":[{"role_id":"root"}]}`),
		detail{"body.name", "string_type", "Input should be a valid string"},
		detail{"body.roles.0.role_id", "value_error", "Value error, is not one of the roles 'admin', 'editor', 'viewer'"})
	// Passed over, this context would have left a role that holds everywhere.
	requireDetails(t, r.as("full", "POST", clients, `{"name":"bound","roles":[{"role_id":"viewer"}],"roles_context":"dataset:d1"}`),
		detail{"body.roles_context", "value_error", "Value error, is for the update of a client; give each role its resource and resource_instance"})
	require.Equal(t, http.StatusCreated, r.as("full", "POST", clients, `{"name":"last","roles_context":null}`).Code)
	requireDetails(t, r.as("viewer", "GET", clients+"?limit=0&offset=-1", ""),
		detail{"query.offset", "greater_than_equal", "Input should be greater than or equal to 0"},
		detail{"query.limit", "greater_than_equal", "Input should be greater than or equal to 1"})
	requireDetails(t, r.as("viewer", "GET", clients+"?limit=1001&offset=10001", ""),
		detail{"query.offset", "less_than_equal", "Input should be less than or equal to 10000"},
		detail{"query.limit", "less_than_equal", "Input should be less than or equal to 1000"})
	requireDetails(t, r.as("viewer", "GET", clients+"?offset=x", ""),
		detail{"query.offset", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"})
}

// A role on a type of resources that there is not is refused as an unknown role is,
// whatever is made or changed.
func TestRolesOnUnknownTypes(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.client("acme", "c1", access.Role{ID: "viewer"})
	const given = `"roles":[{"role_id":"viewer","resource":"vaults"}]`
	want := detail{"body.roles.0.resource", "value_error",
		"Value error, is not one of the types 'client', 'dataset', 'invitation', 'trigger', 'vault'"}
	requireDetails(t, r.as("full", "PUT", clients+"/c1", `{`+given+`}`), want)
	requireDetails(t, r.as("full", "POST", clients, `{"name":"n",`+given+`}`), want)
	requireDetails(t, r.as("full", "POST", invitations, `{"email":"a@example.com","name":"n",`+given+`}`), want)
}

// TestUpdateClientIfMatch: two administrators change the same client as both have read it. The
// later change is refused, and a role that was taken away does not come back.
func TestUpdateClientIfMatch(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "c1", access.Role{ID: "viewer"}, access.Role{ID: "editor"})
	put := func(tag, body string) *httptest.ResponseRecorder {
		return r.as("full", "PUT", clients+"/c1", body, header("If-Match", tag))
	}
	read := func() string {
		w := r.as("full", "GET", clients+"/c1", "")
		require.Equal(t, http.StatusOK, w.Code)
		require.Regexp(t, `^"[A-Za-z0-9_-]{22}"$`, w.Header().Get("ETag"))
		require.Equal(t, w.Header().Get("ETag"), r.as("full", "HEAD", clients+"/c1", "").Header().Get("ETag"))
		return w.Header().Get("ETag")
	}
	old := read()
	w := put(old, `{"roles":[{"role_id":"viewer"}]}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	fresh := w.Header().Get("ETag")
	require.NotEqual(t, old, fresh)
	require.Equal(t, fresh, read(), "PUT answers as GET does")

	const refused = "The client is not as If-Match demands: it was changed meanwhile, or the header does not hold an ETag as it came. " +
		"Read the client again, and send the ETag of that answer."
	trail, err := r.service.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{})
	require.NoError(t, err)
	for _, tag := range []string{old, "W/" + fresh, strings.Trim(fresh, `"`), "", `"x", W/` + fresh, fresh + " x"} {
		w = put(tag, `{"name":"Both","roles":[{"role_id":"viewer"},{"role_id":"editor"}]}`)
		require.Equal(t, refused, requireDetail(t, w, http.StatusPreconditionFailed), tag)
		require.Empty(t, w.Header().Get("ETag"))
	}
	require.Equal(t, []access.Role{{ID: "viewer"}}, r.roles("acme", "c1"))
	require.Equal(t, fresh, read())
	after, err := r.service.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{})
	require.NoError(t, err)
	require.Equal(t, trail, after, "nothing has changed")

	// A use and a rotation of the secret leave the answer of GET, and so its tag.
	require.True(t, r.logsIn("c1", secret))
	require.Equal(t, http.StatusOK, r.as("full", "POST", clients+"/c1/rotate-secret", "").Code)
	require.Equal(t, fresh, read())
	require.Equal(t, http.StatusOK, put(`"x", `+fresh, `{"name":"List","roles":[{"role_id":"viewer"}]}`).Code)
	require.Equal(t, http.StatusOK, put("*", `{"name":"Any","roles":[{"role_id":"viewer"}]}`).Code)
	require.Equal(t, http.StatusOK, r.as("full", "PUT", clients+"/c1", `{"name":"Without","roles":[{"role_id":"viewer"}]}`).Code)
	tags := func(r *http.Request) { r.Header["If-Match"] = []string{`"x"`, read()} }
	require.Equal(t, http.StatusOK, r.as("full", "PUT", clients+"/c1", `{"name":"Lines","roles":[{"role_id":"viewer"}]}`, tags).Code)

	// Whatever else is wrong is told first.
	r.tokens["stranger"] = r.token("acme", "stranger", access.Role{ID: "admin", Resource: "client"})
	requireDetails(t, put(old, `{"name":7}`), detail{"body.name", "string_type", "Input should be a valid string"})
	requireDetail(t, r.as("viewer", "PUT", clients+"/c1", `{}`, header("If-Match", old)), http.StatusForbidden)
	requireDetail(t, r.as("stranger", "PUT", clients+"/c1", `{"roles":[{"role_id":"admin"}]}`, header("If-Match", old)), http.StatusForbidden)
	for _, tag := range []string{old, "*"} {
		requireDetail(t, r.as("full", "PUT", clients+"/unknown", `{}`, header("If-Match", tag)), http.StatusNotFound)
	}
}

func TestDeleteClient(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "c1", access.Role{ID: "editor"})
	require.True(t, r.logsIn("c1", secret))
	w := r.as("admin", "DELETE", clients+"/c1", "")
	requireBody(t, w, http.StatusOK, "")
	require.Empty(t, w.Header().Get("Content-Type"))
	require.False(t, r.logsIn("c1", secret))
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		require.Equal(t, "There is no such client.", requireDetail(t, r.as("full", method, clients+"/c1", `{}`), http.StatusNotFound))
	}
}

func TestRotateSecret(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	first := r.client("acme", "c1")
	rotate := func(body string, edits ...func(*http.Request)) (secret string) {
		t.Helper()
		w := r.as("full", "POST", clients+"/c1/rotate-secret", body, edits...)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		id, secret := r.credentials(w.Body.Bytes())
		require.Equal(t, "c1", id)
		require.True(t, r.logsIn("c1", secret))
		return secret
	}
	second := rotate("")
	require.True(t, r.logsIn("c1", first))
	r.advance(24 * time.Hour)
	require.False(t, r.logsIn("c1", first), "the service's default")
	third := rotate(`{"overlap_seconds":60}`)
	r.advance(time.Minute - time.Microsecond)
	require.True(t, r.logsIn("c1", second))
	r.advance(time.Microsecond)
	require.False(t, r.logsIn("c1", second))
	fourth := rotate(`{"overlap_seconds":0,"more":1}`)
	require.False(t, r.logsIn("c1", third), "at once")
	rotate(`{"overlap_seconds":null}`)
	require.True(t, r.logsIn("c1", fourth))
	until := begin.Add(time.Duration(r.since.Load()) + 24*time.Hour).Format("2006-01-02T15:04:05.000000Z")
	for _, body := range []string{"", `{"overlap_seconds":60}`, `{"overlap_seconds":7776000}`} {
		require.Equal(t, "secret_overlap: two secrets work; revoke one, or wait until "+until+".",
			requireDetail(t, r.as("full", "POST", clients+"/c1/rotate-secret", body), http.StatusConflict))
	}
	require.True(t, r.logsIn("c1", fourth), "nothing has changed")
	requireDetail(t, r.as("admin", "POST", clients+"/c1/rotate-secret", ""), http.StatusForbidden)
	for _, body := range []string{`{"overlap_seconds":7776000}`, `{}`, `null`} {
		r.client("acme", body)
		require.Equal(t, http.StatusOK, r.as("full", "POST", clients+"/"+url.PathEscape(body)+"/rotate-secret", body).Code)
	}
	for n, edits := range [][]func(*http.Request){{header("Content-Type", "application/json")}, {header("Content-Type", "text/plain")}} {
		id := fmt.Sprint("typed", n)
		r.client("acme", id)
		require.Equal(t, http.StatusOK, r.as("full", "POST", clients+"/"+id+"/rotate-secret", "", edits...).Code)
	}

	for body, want := range map[string]detail{
		`{"overlap_seconds":-1}`:      {"body.overlap_seconds", "greater_than_equal", "Input should be greater than or equal to 0"},
		`{"overlap_seconds":7776001}`: {"body.overlap_seconds", "less_than_equal", "Input should be less than or equal to 7776000"},
		`{"overlap_seconds":1.0}`:     {"body.overlap_seconds", "int_type", "Input should be a valid integer"},
		`[]`:                          {"body", "model_attributes_type", "Input should be a valid dictionary or object to extract fields from"},
		`{`:                           {"body.1", "json_invalid", "JSON decode error"},
	} {
		requireDetails(t, r.as("viewer", "POST", clients+"/c1/rotate-secret", body), want)
	}
	requireDetail(t, r.as("full", "POST", clients+"/c1/rotate-secret", "x=1", header("Content-Type", "application/x-www-form-urlencoded")), http.StatusUnsupportedMediaType)
	requireDetail(t, r.as("admin", "POST", clients+"/c1/rotate-secret", ""), http.StatusForbidden)
	require.Equal(t, "There is no such client.", requireDetail(t, r.as("full", "POST", clients+"/c2/rotate-secret", ""), http.StatusNotFound))
}

// IDs may hold what has to be escaped in a path.
func TestEscapedIDs(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	for _, id := range []string{"a/b", "a//b", "a/../b", "a/", "%2F", "a b", "ü?#&+"} {
		r.client("acme", id, access.Role{ID: "viewer"})
		path := clients + "/" + url.PathEscape(id)
		require.Equal(t, http.StatusOK, r.as("full", "GET", path, "").Code, "%q", id)
		require.Equal(t, http.StatusOK, r.as("full", "POST", path+"/rotate-secret", "").Code, "%q", id)
		require.Equal(t, http.StatusOK, r.as("full", "DELETE", path, "").Code, "%q", id)
	}
}

// crowded is a store that counts more clients and pending invitations than there may be.
type crowded struct{ authmgmt.Store }

func (crowded) CountClients(_ context.Context, _ string, most int) (mortise.Count, error) {
	return mortise.CountUpTo(1_000_000, most), nil
}

func (crowded) CountInvitations(_ context.Context, _ string, _ time.Time, _ string, most int) (mortise.Count, error) {
	return mortise.CountUpTo(1_000_000, most), nil
}

// TestTooManyOfAnOrganization: one more client, or invitation, is a problem of the body.
func TestTooManyOfAnOrganization(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	backend := db.AuthMgmt()
	backend.Store = crowded{backend.Store}
	key, err := authmgmt.NewInvitationKey([]byte("not random, and nobody's key !?>"))
	require.NoError(t, err)
	service, err := authmgmt.New(backend, &authmgmt.Options{AcceptURL: "https://example.com/", InvitationKey: key})
	require.NoError(t, err)
	handler, err := httpadapter.NewAuthMgmt(service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	}), &httpadapter.AuthMgmtOptions{Clients: true, Invitations: true})
	require.NoError(t, err)
	for path, body := range map[string]string{"clients": `{"name":"n"}`, "user-invitations": `{"name":"n","email":"a@example.com"}`} {
		request := httptest.NewRequest("POST", "/api/v1/auth-management/"+path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request)
		requireDetails(t, w, detail{"body", "value_error",
			"Value error, the organization's " + strings.TrimPrefix(path, "user-") + " are 10000 already, and can be no more"})
	}
}
