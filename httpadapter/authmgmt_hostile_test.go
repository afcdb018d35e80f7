package httpadapter_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// hostileManagementBodies are bodies that have broken JSON services, with the fields of
// this one.
func hostileManagementBodies() map[string]string {
	list := hostileBodies()
	fill := func(piece string) string { return strings.Repeat(piece, bodyLimit/len(piece)-64) }
	for name, body := range map[string]string{
		"many roles":             `{"name":"x","roles":[` + strings.TrimSuffix(fill(`{"role_id":"viewer"},`), ",") + `]}`,
		"many empty roles":       `{"name":"x","roles":[` + strings.TrimSuffix(fill(`{},`), ",") + `]}`,
		"many nulls as roles":    `{"name":"x","roles":[` + strings.TrimSuffix(fill(`null,`), ",") + `]}`,
		"deep roles":             `{"name":"x","roles":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		"long name":              `{"name":"` + fill("n") + `"}`,
		"long escaped name":      `{"name":"` + fill(`\u0000`) + `"}`,
		"long role":              `{"name":"x","roles":[{"role_id":"` + fill("r") + `"}]}`,
		"long context":           `{"roles_context":"dataset:` + fill("d") + `"}`,
		"huge number":            `{"overlap_seconds":1e999999,"expires_in":` + strings.Repeat("9", 5000) + `}`,
		"invitee in invitee":     strings.Repeat(`{"invitee":`, 500) + `{}` + strings.Repeat(`}`, 500),
		"header in the address":  `{"email":"a@b.c\r\nBcc: d@e.f","name":"x"}`,
		"right to left":          `{"email":"a@b.c","name":"` + "\u202e" + `x"}`,
		"lone surrogate in role": `{"name":"x","roles":[{"role_id":"\ud800"}]}`,
	} {
		list[name] = body
	}
	return list
}

func TestHostileManagementBodies(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.client("acme", "c1")
	bodies := hostileManagementBodies()
	for _, m := range managementRequests {
		if m.method == "GET" || m.method == "DELETE" || strings.HasSuffix(m.path, "/resend") {
			continue
		}
		for name, body := range bodies {
			if body == "" {
				continue
			}
			m.body = body
			w := m.send(r, "full", "c1")
			require.Contains(t, []int{200, 201, 409, 422}, w.Code, "%s, %s: %s", m.operation, name, w.Body)
			if w.Code == http.StatusUnprocessableEntity {
				require.NotEmpty(t, details(t, w.Body.Bytes()), name)
				require.Less(t, w.Body.Len(), 64<<10, name)
			}
		}
	}
	require.NotContains(t, r.log.String(), "request failed")
}

func TestHostilePaths(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	for _, id := range []string{"%00", "%ff", "%2e%2e", "%2F", "%5C", "%0d%0aX-Evil:%201", "%25", "%E2%80%AE", "a%20b", "%3Cscript%3E", strings.Repeat("%61", 5000)} {
		for _, m := range managementRequests {
			if !m.hasID() {
				continue
			}
			w := m.send(r, "full", id)
			require.Contains(t, []int{http.StatusNotFound, http.StatusUnprocessableEntity}, w.Code, "%s %s: %s", m.operation, id, w.Body)
			require.Empty(t, w.Header().Get("X-Evil"))
			require.NotContains(t, w.Body.String(), "script")
		}
	}
}

// encodings are ways in which a secret may show up.
func encodings(secret string) []string {
	quoted, _ := json.Marshal(secret)
	list := []string{
		secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		url.QueryEscape(secret), url.PathEscape(secret), html.EscapeString(secret), strings.Trim(string(quoted), `"`), strings.ToUpper(secret),
		fmt.Sprintf("%v", []byte(secret)), fmt.Sprintf("%q", secret),
	}
	if len(secret) > 3 && secret[2] == '-' {
		list = append(list, secret[3:])
	}
	if _, mac, isLink := strings.Cut(secret, "."); isLink { // what stands before is no secret
		list = append(list, mac)
	}
	return list
}

// Whatever goes wrong, and wherever: no secret, no link and no token in logs,
// observations and answers that are no success.
func TestNoSecretInLogsObservationsOrErrors(t *testing.T) {
	r := newAuthRig(t, nil, &authmgmt.Options{})
	var secrets []string
	for _, token := range r.tokens {
		secrets = append(secrets, token)
	}
	secret := r.client("acme", "c1", access.Role{ID: "viewer"})
	i := r.invitation("acme", "i1", access.Role{ID: "viewer"})
	link := r.link(&i)
	w := r.as("full", "POST", clients, `{"name":"x"}`)
	_, made := r.credentials(w.Body.Bytes())
	secrets = append(secrets, secret, link, made, "cs-typed-by-mistake-0123456789")

	r.bodySeen = nil
	var failures strings.Builder
	note := func(w *httptest.ResponseRecorder) {
		if w.Code >= 300 {
			fmt.Fprintf(&failures, "%d %v %s\n", w.Code, w.Header(), w.Body)
		}
	}
	methods := []string{"TokenByDigest", "Client", "ClientBySecret", "CreateClient", "UpdateClient", "ListClients", "CreateToken",
		"CreateInvitation", "Invitation", "UpdateInvitation", "ListInvitations", "AccessControl"}
	for _, broken := range append(methods, "") {
		r.faults(broken)
		for _, caller := range []string{"full", "viewer", ""} {
			for _, m := range managementRequests {
				note(m.send(r, caller, "unknown"))
				note(m.send(r, caller, link)) // in the wrong place
				m.body = `{"name":7,"client_secret":"` + secret + `","roles":[{"role_id":"` + secret + `","resource":"` + link + `"}],"roles_context":"` + made +
					`","email":"` + secret + `","expires_in":"` + link + `","overlap_seconds":"` + secret + `","` + made + `":1}`
				note(m.send(r, caller, "c1"))
				m.body = `{"name":"` + secret
				note(m.send(r, caller, "c1"))
			}
		}
		for _, method := range []string{"GET", "PUT"} {
			note(r.as("", method, acceptPath+link, ""))
			note(r.as("", method, acceptPath+link+"0", ""))
			note(r.as("", method, acceptPath+link+"/", ""))
			note(r.as("", method, "/elsewhere/"+link, ""))
			note(r.as("", method, acceptPath+"/"+link, ""))
		}
		note(r.as("", "POST", acceptPath+link+"0", ""))
		grant := "grant_type=client_credentials"
		note(r.form(grant, basic("c1", secret)))
		note(r.form(grant, basic("c1", "cs-typed-by-mistake-0123456789")))
		note(r.form("grant_type=" + secret))
		note(r.form(grant + "&scope=" + secret))
		note(r.form(grant + "&client_id=" + secret + "&client_secret=c1"))
		note(r.form(grant + "&client_secret=" + secret + "&client_secret=" + secret))
		note(r.as("", "POST", login+"?client_secret="+secret, ""))
		note(r.as("", "POST", login, `{"client_secret":"`+secret+`"`))
		note(r.as("", "GET", login+"?client_secret="+secret, ""))
	}
	r.faults("UpdateInvitation")
	note(r.as("", "POST", acceptPath+link, ""))
	r.faults()
	note(r.as("", "POST", acceptPath+link, ""))
	note(r.as("", "POST", acceptPath+link, ""))
	require.Contains(t, r.log.String(), "connection refused")

	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	all := r.log.String() + failures.String() + fmt.Sprintf("%+v", r.seen.list)
	require.Contains(t, all, "/accept-invitation/{token}")
	for _, secret := range secrets {
		for _, form := range encodings(secret) {
			require.NotContains(t, all, form)
		}
	}
}

// A panic goes on to net/http, which logs it. The log must not hold the link.
func TestPanicShowsNoLink(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	i := r.invitation("acme", "i1")
	link := r.link(&i)
	broken, err := authmgmt.New(authmgmt.Backend{Store: panicking{r.store}}, &r.opts)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(mounted(t, broken))
	var logged lockedBuffer
	server.Config.ErrorLog = log.New(&logged, "", 0)
	server.Start()
	for _, send := range []func(string) (*http.Response, error){
		http.Get, func(address string) (*http.Response, error) { return http.Post(address, "", nil) },
	} {
		resp, err := send(server.URL + acceptPath + link)
		if err == nil {
			_ = resp.Body.Close()
		}
		require.Error(t, err)
	}
	server.Close()
	require.Contains(t, logged.String(), "the disk is gone")
	for _, form := range encodings(link) {
		require.False(t, bytes.Contains([]byte(logged.String()), []byte(form)))
	}
}
