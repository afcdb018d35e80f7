package httpadapter_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// tokenText is what RFC 6749 section 5.2 allows in a description.
var tokenText = regexp.MustCompile(`^[\x20-\x21\x23-\x5B\x5D-\x7E]+$`)

// requireTokenError checks an error body of RFC 6749 section 5.2, and the headers that
// must be there.
func requireTokenError(t *testing.T, w *httptest.ResponseRecorder, status int, code string) string {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Equal(t, "no-cache", w.Header().Get("Pragma"))
	challenge := ""
	if status == http.StatusUnauthorized {
		challenge = `Basic realm="token endpoint", charset="UTF-8"`
	}
	require.Equal(t, challenge, w.Header().Get("WWW-Authenticate"))
	var answer map[string]string
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
	require.Len(t, answer, 2)
	require.Equal(t, code, answer["error"])
	require.Regexp(t, tokenText, answer["error_description"])
	return answer["error_description"]
}

const asForm = "application/x-www-form-urlencoded"

func basic(id, secret string) func(*http.Request) {
	return header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret))))
}

func (r *authRig) form(body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.as("", "POST", login, body, append([]func(*http.Request){header("Content-Type", asForm)}, edits...)...)
}

func TestLogin(t *testing.T) {
	r := newAuthRig(t, nil, &authmgmt.Options{TokenLifetime: 90 * time.Minute})
	const id = "odd: id+%&=é"
	secret := r.client("acme", id, access.Role{ID: "admin"})
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
	text, err := json.Marshal(map[string]any{"grant_type": "client_credentials", "client_id": id, "client_secret": secret, "scope": nil, "more": []int{1}})
	require.NoError(t, err)
	const grant = "grant_type=client_credentials"
	for name, w := range map[string]*httptest.ResponseRecorder{
		"form":           r.form(form.Encode()),
		"form, charset":  r.form(form.Encode(), header("Content-Type", asForm+"; charset=UTF-8")),
		"form, more":     r.form(form.Encode() + "&scope=&more=1&more=2&&audience=x"),
		"JSON":           r.as("", "POST", login, string(text)),
		"Basic":          r.form(grant, basic(id, secret)),
		"Basic, JSON":    r.as("", "POST", login, `{"grant_type":"client_credentials"}`, basic(id, secret)),
		"Basic, its ID":  r.form(grant+"&client_id="+url.QueryEscape(id), basic(id, secret)),
		"Basic, empties": r.form(grant+"&client_id=&client_secret=", basic(id, secret)),
		"query ignored":  r.as("", "POST", login+"?grant_type=x&client_secret=&a=%zz", form.Encode(), header("Content-Type", asForm)),
	} {
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", name, w.Body)
		require.Equal(t, http.Header{
			"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}, "Pragma": {"no-cache"},
		}, withoutID(w))
		var answer struct {
			Token string `json:"access_token"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		require.Equal(t, `{"access_token":"`+answer.Token+`","token_type":"Bearer","expires_in":5400}`, w.Body.String())
		r.tokens["client"] = answer.Token
		require.Equal(t, http.StatusOK, r.as("client", "GET", clients, "").Code, name)
	}
	r.advance(90 * time.Minute)
	requireDetail(t, r.as("client", "GET", clients, ""), http.StatusUnauthorized)
}

// Who does not form-urlencode the halves of Basic, as curl does not, gets in all the
// same.
func TestLoginWithPlainBasic(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	root := authmgmt.Caller{Actor: "root", Access: access.Full()}
	for id, secret := range map[string]string{
		"c+1": "not a real one, with a space: 0123456789", "c2": "not+a+real+one/+0123456789abcdef0123==", "c%3": "not%20a%20real%20one%200123456789abc", "c4": "not a real one 0123456789abcdef%zz",
	} {
		_, err := r.service.ImportClient(t.Context(), "acme", root, authmgmt.NewClient{ID: id, Name: "n", FullAccess: true}, secret)
		require.NoError(t, err)
		plain := func(r *http.Request) { r.SetBasicAuth(id, secret) }
		require.Equal(t, http.StatusOK, r.form("grant_type=client_credentials", plain).Code, id)
		require.Equal(t, http.StatusOK, r.form("grant_type=client_credentials", basic(id, secret)).Code, id)
		wrong := func(r *http.Request) { r.SetBasicAuth(id, secret+"+") }
		require.Equal(t, http.StatusUnauthorized, r.form("grant_type=client_credentials", wrong).Code, id)
	}
}

func TestLoginRefuses(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "c1")
	other := r.client("acme", "c2")
	theirs := r.client("rival", "c9")
	const grant = "grant_type=client_credentials"
	body := grant + "&client_id=c1&client_secret="
	object := func(fields string) *httptest.ResponseRecorder { return r.as("", "POST", login, fields) }
	type want struct {
		status int
		code   string
	}
	wrong, malformed := want{401, "invalid_client"}, want{400, "invalid_request"}
	for name, c := range map[string]struct {
		w *httptest.ResponseRecorder
		want
	}{
		"wrong secret":             {r.form(body + secret + "0"), wrong},
		"cut secret":               {r.form(body + secret[1:]), wrong},
		"long secret":              {r.form(body + strings.Repeat("a", 2000)), wrong},
		"another client's":         {r.form(body + other), wrong},
		"another organization's":   {r.form(body + theirs), wrong},
		"unknown client":           {r.form(grant + "&client_id=c3&client_secret=" + secret), wrong},
		"no client":                {r.form(grant + "&client_secret=" + secret), wrong},
		"no secret":                {r.form(grant + "&client_id=c1"), wrong},
		"nothing":                  {r.form(grant), wrong},
		"U+0000":                   {r.form(grant + "&client_id=c1%00&client_secret=" + secret), wrong},
		"no UTF-8":                 {r.form(grant + "&client_id=%ff&client_secret=%fe" + secret), wrong},
		"Basic, wrong":             {r.form(grant, basic("c1", secret+"0")), wrong},
		"Basic, unknown":           {r.form(grant, basic("c3", secret)), wrong},
		"Basic, no colon":          {r.form(grant, header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("c1")))), wrong},
		"Basic, no base64":         {r.form(grant, header("Authorization", "Basic c1:"+secret)), wrong},
		"Basic, no escape":         {r.form(grant, header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("c1:%zz")))), wrong},
		"Basic, bad id":            {r.form(grant, header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("%zz:a")))), wrong},
		"Basic, empty":             {r.form(grant, basic("", "")), wrong},
		"Bearer":                   {r.form(grant, header("Authorization", "Bearer "+secret)), wrong},
		"Bearer, valid token":      {r.as("full", "POST", login, grant, header("Content-Type", asForm)), wrong},
		"Authorization, empty":     {r.form(grant, header("Authorization", "")), wrong},
		"Digest":                   {r.form(grant, header("Authorization", "Digest username=c1")), wrong},
		"Basic and body":           {r.form(body+secret, basic("c1", secret)), malformed},
		"Basic and another ID":     {r.form(grant+"&client_id=c2", basic("c1", secret)), malformed},
		"Basic and a secret":       {r.form(grant+"&client_secret="+secret, basic("c1", secret)), malformed},
		"Bearer and body":          {r.as("full", "POST", login, body+secret, header("Content-Type", asForm)), malformed},
		"two headers":              {r.form(grant, func(req *http.Request) { req.Header["Authorization"] = []string{"Basic YTpi", "Basic YTpi"} }), malformed},
		"no grant":                 {r.form("client_id=c1&client_secret=" + secret), malformed},
		"empty grant":              {r.form("grant_type=&client_id=c1&client_secret=" + secret), malformed},
		"password":                 {r.form("grant_type=password&client_id=c1&client_secret=" + secret), want{400, "unsupported_grant_type"}},
		"grant in upper case":      {r.form("grant_type=Client_Credentials&client_id=c1&client_secret=" + secret), want{400, "unsupported_grant_type"}},
		"scope":                    {r.form(body + secret + "&scope=read"), want{400, "invalid_scope"}},
		"repeated grant":           {r.form(body + secret + "&" + grant), malformed},
		"repeated id":              {r.form(body + secret + "&client_id=c1"), malformed},
		"repeated secret, escaped": {r.form(body + secret + "&client%5Fsecret=" + secret), malformed},
		"repeated scope":           {r.form(body + secret + "&scope=&scope="), malformed},
		"no escape":                {r.form(body + "%zz"), malformed},
		"no escape in a name":      {r.form(body + secret + "&%=1"), malformed},
		"credentials in the URL":   {r.as("", "POST", login+"?client_id=c1&client_secret="+secret, body+secret, header("Content-Type", asForm)), malformed},
		"client in the URL":        {r.as("", "POST", login+"?client_id=c1", body+secret, header("Content-Type", asForm)), malformed},
		"secret in the URL":        {r.as("", "POST", login+"?a=1&client%5fsecret="+secret, grant, header("Content-Type", asForm)), malformed},
		"empty body, no type":      {r.as("", "POST", login, "", basic("c1", secret)), malformed},
		"empty body":               {r.form(""), malformed},
		"empty JSON":               {r.as("", "POST", login, "", header("Content-Type", "application/json")), malformed},
		"JSON null":                {object(`null`), malformed},
		"JSON list":                {object(`[]`), malformed},
		"JSON number":              {object(`{"grant_type":"client_credentials","client_id":1}`), malformed},
		"JSON repeated":            {object(`{"grant_type":"client_credentials","grant_type":"client_credentials"}`), malformed},
		"JSON cut":                 {object(`{"grant_type":`), malformed},
		"JSON, form declared":      {r.form(`{"grant_type":"client_credentials"}`), malformed},
		"JSON without grant":       {object(`{"client_id":"c1","client_secret":"` + secret + `"}`), malformed},
		"no type":                  {r.form(body+secret, noHeader("Content-Type")), want{415, "invalid_request"}},
		"text":                     {r.form(body+secret, header("Content-Type", "text/plain")), want{415, "invalid_request"}},
		"multipart":                {r.form(body+secret, header("Content-Type", "multipart/form-data; boundary=x")), want{415, "invalid_request"}},
		"Latin-1":                  {r.form(body+secret, header("Content-Type", asForm+"; charset=latin1")), want{415, "invalid_request"}},
		"gzip":                     {r.form(body+secret, header("Content-Encoding", "gzip")), want{415, "invalid_request"}},
		"too large":                {r.form(body + strings.Repeat("a", 64<<10)), want{413, "invalid_request"}},
		"too large, chunked": {r.form(body+strings.Repeat("a", 64<<10), func(req *http.Request) { req.ContentLength = -1 }),
			want{413, "invalid_request"}},
		"GET":    {r.as("full", "GET", login, ""), want{405, "invalid_request"}},
		"DELETE": {r.as("", "DELETE", login, ""), want{405, "invalid_request"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := requireTokenError(t, c.w, c.status, c.code)
			require.NotContains(t, text, secret)
			if c.status == http.StatusMethodNotAllowed {
				require.Equal(t, "POST", c.w.Header().Get("Allow"))
			}
		})
	}
}

// Nothing sent at all is told what it lacks.
func TestEmptyLogin(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	for _, w := range []*httptest.ResponseRecorder{
		r.as("", "POST", login, "", basic("c1", "secret")), r.form(""), r.as("", "POST", login, "", header("Content-Type", "application/json")),
		r.as("", "POST", login, "null"), r.as("", "POST", login, "{}"),
	} {
		text := requireTokenError(t, w, http.StatusBadRequest, "invalid_request")
		require.Equal(t, "The parameter grant_type is missing. It must be client_credentials.", text)
	}
}

// Whichever half is wrong, the answer is the same.
func TestLoginSaysNotWhatIsWrong(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "c1")
	r.client("acme", "gone")
	require.NoError(t, r.service.DeleteClient(t.Context(), "acme", root, "gone"))
	const grant = "grant_type=client_credentials&client_id="
	first := r.form(grant + "c1&client_secret=wrong")
	for _, body := range []string{"c2&client_secret=" + secret, "c2&client_secret=wrong", "gone&client_secret=wrong", "c1&client_secret=" + secret + "0"} {
		w := r.form(grant + body)
		require.Equal(t, first.Code, w.Code)
		require.Equal(t, first.Body.String(), w.Body.String())
		require.Equal(t, withoutID(first), withoutID(w))
	}
}

func TestLoginUnavailable(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "c1")
	for _, method := range []string{"ClientBySecret", "CreateToken"} {
		r.faults(method)
		requireTokenError(t, r.form("grant_type=client_credentials", basic("c1", secret)), http.StatusServiceUnavailable, "temporarily_unavailable")
		require.Contains(t, r.log.String(), method+": connection refused", "the operator is told")
	}
	r.faults()
	require.Equal(t, http.StatusOK, r.form("grant_type=client_credentials", basic("c1", secret)).Code)
}

func TestLoginBodyThatDoesNotArrive(t *testing.T) {
	all := everyAuthOption
	all.BodyTimeout = 50 * time.Millisecond
	r := newAuthRig(t, &all, nil)
	head := "POST " + login + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + asForm + "\r\n"
	address := strings.TrimPrefix(r.server.URL, "http://")
	require.Equal(t, "HTTP/1.1 408 Request Timeout", raw(t, address, head+"Content-Length: 10\r\n\r\na", false))
	require.Equal(t, "HTTP/1.1 413 Request Entity Too Large", raw(t, address, head+"Content-Length: 65537\r\n\r\n", false))
	patient := newAuthRig(t, nil, nil)
	require.Equal(t, "HTTP/1.1 400 Bad Request", raw(t, strings.TrimPrefix(patient.server.URL, "http://"), head+"Content-Length: 10\r\n\r\na", true))
}

func TestMaxBodyBoundsLoginToo(t *testing.T) {
	all := everyAuthOption
	all.MaxBody = 100
	r := newAuthRig(t, &all, nil)
	requireTokenError(t, r.form("grant_type=client_credentials&a="+strings.Repeat("a", 100)), http.StatusRequestEntityTooLarge, "invalid_request")
}

func TestHostileLogins(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	r.client("acme", "c1")
	var many strings.Builder
	for i := range 100_000 {
		many.WriteString("&p" + strconv.Itoa(i) + "=1")
	}
	fits := many.String()[:60_000]
	for name, body := range map[string]string{
		"many parameters": many.String(), "as many as fit": fits, "ampersands": strings.Repeat("&", 60_000), "equals": strings.Repeat("=", 60_000),
		"percents": strings.Repeat("%", 60_000), "NULs": strings.Repeat("\x00", 1000), "deep": strings.Repeat("[", 60_000),
		"deep objects": strings.Repeat(`{"a":`, 10_000), "bad UTF-8": "grant_type=\xff\xfe", "lone surrogate": `{"grant_type":"\ud800"}`,
		"long grant": "grant_type=" + strings.Repeat("a", 60_000), "semicolons": "grant_type=client_credentials;client_id=c1", "BOM": "\ufeff{}",
	} {
		for _, contentType := range []string{asForm, "application/json"} {
			w := r.form(body, header("Content-Type", contentType))
			require.Contains(t, []int{400, 401, 413}, w.Code, "%s as %s: %s", name, contentType, w.Body)
			require.Less(t, w.Body.Len(), 300)
		}
	}
	w := r.as("", "POST", login+"?"+many.String()[:500_000], "grant_type=x", header("Content-Type", asForm))
	requireTokenError(t, w, http.StatusBadRequest, "unsupported_grant_type")
}

func TestLoginAlone(t *testing.T) {
	r := newAuthRig(t, &httpadapter.AuthMgmtOptions{Login: true}, nil)
	require.True(t, r.logsIn("c1", r.client("acme", "c1")))
	require.Len(t, r.handler.Routes(), 4)
}

// PublicOnly mounts the token endpoint and the acceptance page, and nothing that roles
// govern, so that there may be nobody to authenticate.
func TestPublicOnly(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "c1")
	for _, opts := range []httpadapter.AuthMgmtOptions{{Login: true}, {AcceptPage: true}, {Login: true, AcceptPage: true}} {
		opts.PublicOnly = true
		h, err := httpadapter.NewAuthMgmt(r.service, nil, &opts)
		require.NoError(t, err)
		var paths []string
		for _, route := range h.Routes() {
			paths = append(paths, route.Method+" "+route.Pattern)
		}
		var want []string
		if opts.AcceptPage {
			page := httpadapter.AcceptPath + "{token}"
			want = append(want, "GET "+page, "POST "+page)
		}
		if opts.Login {
			want = append(want, "POST "+login)
		}
		require.Equal(t, want, paths)

		for _, asked := range []string{"PUT " + clients + "/c1", "GET " + invitations + "/i1", "DELETE " + invitations + "/i1", "GET " + issued} {
			method, path, _ := strings.Cut(asked, " ")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			require.Equal(t, http.StatusNotFound, w.Code, asked)
		}
		q := httptest.NewRequest("POST", login, strings.NewReader("grant_type=client_credentials"))
		q.Header.Set("Content-Type", asForm)
		q.SetBasicAuth("c1", secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if opts.Login {
			require.Equal(t, http.StatusOK, w.Code, w.Body)
		} else {
			require.Equal(t, http.StatusNotFound, w.Code)
		}
	}

	auth := httpadapter.Bearer(httpadapter.AccessTokens(r.service))
	for _, opts := range []httpadapter.AuthMgmtOptions{
		{}, {Login: true, Clients: true}, {Login: true, Invitations: true}, {AcceptPage: true, Tokens: true},
	} {
		opts.PublicOnly = true
		_, err := httpadapter.NewAuthMgmt(r.service, auth, &opts)
		require.ErrorContains(t, err, "PublicOnly")
	}
	_, err := httpadapter.NewAuthMgmt(r.service, nil, &httpadapter.AuthMgmtOptions{Login: true})
	require.ErrorContains(t, err, "an authenticator is needed")
}

// TestLoginOfASecretThatEnds: a token that is good for less than a second is not one for ever.
func TestLoginOfASecretThatEnds(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	secret := r.client("acme", "c1")
	_, _, err := r.service.RotateSecret(t.Context(), "acme", authmgmt.Caller{Actor: "root", Access: access.Full()}, "c1", time.Hour)
	require.NoError(t, err)
	r.advance(time.Hour - 400*time.Millisecond)
	w := r.form("grant_type=client_credentials", basic("c1", secret))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"expires_in":1}`)
}
