package main

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// homeRig is the server of a demo, or of a document, with a clock for the demo's link.
type homeRig struct {
	t        *testing.T
	settings *settings
	services *services
	handler  http.Handler
	code     string
	now      time.Time
}

func newHomeRig(t *testing.T, demo bool) *homeRig {
	t.Helper()
	r := &homeRig{t: t, settings: testSettings(), now: time.Now()}
	r.settings.memory, r.settings.docs = true, true
	if demo {
		r.settings.demo, r.settings.tally = newDemoCredentials(), newTally(demoOrganization)
		r.settings.demo.code, r.code = newSignInCode(func() time.Time { return r.now })
	}
	var err error
	r.services, err = wire(r.settings, openStorageFor(t, r.settings), testKey(), discard())
	require.NoError(t, err)
	r.handler, err = routes(t.Context(), r.settings, r.services, discard())
	require.NoError(t, err)
	return r
}

// send posts a form, or gets a page if form is nil. Headers are pairs.
func (r *homeRig) send(path, cookie string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		request = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", formType)
	}
	if cookie != "" {
		request.Header.Set("Cookie", cookie)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, request)
	return w
}

// enter sends the code of a link, and returns the status and the cookie.
func (r *homeRig) enter(code string) (status int, cookie string) {
	r.t.Helper()
	w := r.send("/sign-in", "", url.Values{"code": {code}})
	cookie, _, _ = strings.Cut(w.Header().Get("Set-Cookie"), ";")
	return w.Code, cookie
}

// signIn signs the administrator in.
func (r *homeRig) signIn() (cookie string) {
	r.t.Helper()
	status, cookie := r.enter(r.code)
	require.Equal(r.t, http.StatusSeeOther, status)
	return cookie
}

// numbers returns the numbers that the script of the page gets.
func (r *homeRig) numbers(cookie string) (numbers map[string]string) {
	r.t.Helper()
	w := r.send("/numbers", cookie, nil)
	require.Equal(r.t, http.StatusOK, w.Code, w.Body)
	require.NoError(r.t, json.Unmarshal(w.Body.Bytes(), &numbers))
	return numbers
}

// requireNothingSecret: a page has no numbers, credentials and commands.
func (r *homeRig) requireNothingSecret(page string) {
	r.t.Helper()
	for _, never := range []string{`class="numbers"`, "<dd id=", "curl", "Bearer", "<time"} {
		require.NotContains(r.t, page, never)
	}
	if r.settings.demo.code != nil {
		require.NotContains(r.t, page, r.settings.demo.key)
		require.NotContains(r.t, page, r.settings.demo.token)
	}
}

// TestFirstPage: without a sign-in it names the services, and no more. The links are relative.
func TestFirstPage(t *testing.T) {
	for _, demo := range []bool{true, false} {
		r := newHomeRig(t, demo)
		w := r.send("/", "", nil)
		require.Equal(t, http.StatusOK, w.Code)
		page := html.UnescapeString(w.Body.String())
		for _, text := range []string{"Triggers", "Credentials", "Vaults", "Sounds", `<a href="docs">`, `<a href="search">`, version()} {
			require.Contains(t, page, text)
		}
		r.requireNothingSecret(page)
		require.NotContains(t, page, "<bdi>")
		require.Equal(t, demo, strings.Contains(page, `<script src="home.js"`))
		require.Equal(t, demo, strings.Contains(page, "printed a link"))

		h := w.Header()
		require.Equal(t, "text/html; charset=utf-8", h.Get("Content-Type"))
		require.Equal(t, "no-store", h.Get("Cache-Control"))
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'; style-src 'self'; script-src 'self'")
		require.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		require.NotRegexp(t, `<script[^>]*>[^<]|<style|style=| on[a-z]+="`, page, "the policy forbids it")

		missing := http.StatusNotFound
		if demo {
			missing = http.StatusUnauthorized
		}
		require.Equal(t, missing, r.send("/numbers", "", nil).Code)
		require.Equal(t, missing, r.send("/sign-in", "", url.Values{"code": {"x"}}).Code)
		require.Equal(t, http.StatusMethodNotAllowed, r.send("/", "", url.Values{}).Code)
	}
}

// TestFirstPageWithoutDocs: there is no link to an address that has no page.
func TestFirstPageWithoutDocs(t *testing.T) {
	s, _ := open(t)
	handler, err := routes(t.Context(), testSettings(), s, discard())
	require.NoError(t, err)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.NotContains(t, w.Body.String(), `href="docs"`)
}

// TestLinkSignsInOnce: and both pages know the session then.
func TestLinkSignsInOnce(t *testing.T) {
	r := newHomeRig(t, true)
	status, _ := r.enter(r.code + "x")
	require.Equal(t, http.StatusUnauthorized, status, "a wrong code, which does not end the right one")
	w := r.send("/sign-in", "", url.Values{"code": {r.code}})
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "./", w.Header().Get("Location"))
	cookie := w.Header().Get("Set-Cookie")
	require.Regexp(t, `^mortise_session=[\w-]+; HttpOnly; SameSite=Strict$`, cookie, "the browser chooses the path")
	cookie, _, _ = strings.Cut(cookie, ";")

	page := r.send("/", cookie, nil)
	require.Contains(t, page.Body.String(), `<dd id="submitted">0</dd>`)
	require.Contains(t, page.Body.String(), "Bearer "+r.settings.demo.key)
	require.Equal(t, 3, strings.Count(page.Body.String(), `data-copy="command-`))
	require.Equal(t, "no-store", page.Header().Get("Cache-Control"))
	search := r.send("/search", cookie, nil)
	require.Equal(t, http.StatusOK, search.Code)
	require.Contains(t, search.Body.String(), "<bdi>demo</bdi>")
	require.NotContains(t, search.Body.String(), `type="password"`)

	for range 2 {
		status, again := r.enter(r.code)
		require.Equal(t, http.StatusUnauthorized, status, "it was used")
		require.Empty(t, again)
	}
	w = r.send("/logout", cookie, url.Values{})
	require.Equal(t, "./", w.Header().Get("Location"))
	require.Contains(t, w.Header().Get("Set-Cookie"), "mortise_session=; Max-Age=0; HttpOnly")
}

// TestLinkEndsAfterFifteenMinutes: and with its first use, in time or not.
func TestLinkEndsAfterFifteenMinutes(t *testing.T) {
	r := newHomeRig(t, true)
	r.now = r.now.Add(15*time.Minute - time.Millisecond)
	r.signIn()
	r = newHomeRig(t, true)
	begun := r.now
	for _, later := range []time.Duration{15 * time.Minute, time.Minute} {
		r.now = begun.Add(later)
		status, cookie := r.enter(r.code)
		require.Equal(t, http.StatusUnauthorized, status)
		require.Empty(t, cookie)
	}
}

// TestWrongCodesAreLimited: and the right one passes all the same.
func TestWrongCodesAreLimited(t *testing.T) {
	r := newHomeRig(t, true)
	for range 30 {
		status, _ := r.enter("wrong")
		require.Equal(t, http.StatusUnauthorized, status)
	}
	w := r.send("/sign-in", "", url.Values{"code": {"wrong"}})
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	r.signIn()
	r.now = r.now.Add(2 * time.Second)
	status, _ := r.enter("wrong")
	require.Equal(t, http.StatusUnauthorized, status)
}

// TestSignInIsForFormsOfTheSite: any other request leaves the code as it is.
func TestSignInIsForFormsOfTheSite(t *testing.T) {
	r := newHomeRig(t, true)
	form := url.Values{"code": {r.code}}
	for _, headers := range [][]string{
		{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
	} {
		w := r.send("/sign-in", "", form, headers...)
		require.Equal(t, http.StatusForbidden, w.Code, headers)
		require.Empty(t, w.Header().Get("Set-Cookie"))
	}
	require.Equal(t, http.StatusUnsupportedMediaType, r.send("/sign-in", "", form, "Content-Type", "text/plain").Code)
	long := url.Values{"code": {r.code}, "more": {strings.Repeat("x", maxLogin)}}
	require.Equal(t, http.StatusRequestEntityTooLarge, r.send("/sign-in", "", long).Code)
	require.Equal(t, http.StatusMethodNotAllowed, r.send("/sign-in?code="+r.code, "", nil).Code)
	require.Equal(t, http.StatusSeeOther, r.send("/sign-in", "", form, "Origin", r.settings.publicURL).Code)
}

// TestNumbersAreTheAdministrators: visitors of another organization, and others of the
// demo's own, see none, and no credentials.
func TestNumbersAreTheAdministrators(t *testing.T) {
	r := newHomeRig(t, true)
	for _, org := range []string{"acme", demoOrganization} {
		_, token, err := r.services.authmgmt.service.IssueToken(t.Context(), org, provisioner, authmgmt.NewToken{Subject: "ada", FullAccess: true})
		require.NoError(t, err)
		w := r.send("/login", "", url.Values{"token": {token.Reveal()}})
		require.Equal(t, http.StatusSeeOther, w.Code)
		require.Equal(t, "./search", w.Header().Get("Location"))
		cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
		page := r.send("/", cookie, nil)
		require.Equal(t, http.StatusOK, page.Code)
		require.Contains(t, page.Body.String(), "<bdi>ada</bdi> of <bdi>"+org+"</bdi>")
		r.requireNothingSecret(page.Body.String())
		w = r.send("/numbers", cookie, nil)
		require.Equal(t, http.StatusForbidden, w.Code)
		r.requireNothingSecret(w.Body.String())
	}
	w := r.send("/login", "", url.Values{"token": {r.settings.demo.token}})
	cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	require.Contains(t, r.send("/", cookie, nil).Body.String(), `<dd id="submitted">0</dd>`, "the token signs in as the link does")
}

// TestNumbersOfTheFirstPage: they count the organization's own, by the observers and in the
// store.
func TestNumbersOfTheFirstPage(t *testing.T) {
	r := newHomeRig(t, true)
	ctx := t.Context()
	require.NoError(t, apply(t, r.services, `{"organizations":[
		{"id":"demo","setup_complete":true,"doc_collections":[{"id":"7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11","ready":true}],
		 "vaults":[{"id":"v","tables":[{"name":"t","columns":[{"name":"c","tokenization":"deterministic"}]}],
		   "records":[{"table":"t","fields":{"c":"x"}}]}]},
		{"id":"acme","setup_complete":true,"doc_collections":[{"id":"7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b12","ready":true}]}]}`))
	cookie := r.signIn()
	before := r.numbers(cookie)
	require.Equal(t, "0", before["submitted"])
	for org, n := range map[string]int{demoOrganization: 2, "acme": 5} {
		for range n {
			_, err := r.services.trigger.service.Submit(ctx, org, "", trigger.Submission{Instructions: "x"})
			require.NoError(t, err)
		}
		_, _, err := r.services.authmgmt.service.IssueToken(ctx, org, provisioner, authmgmt.NewToken{Subject: "ada", FullAccess: true})
		require.NoError(t, err)
	}
	e, err := r.services.trigger.service.Submit(ctx, demoOrganization, "", trigger.Submission{Instructions: "x"})
	require.NoError(t, err)
	_, err = r.services.trigger.service.Cancel(ctx, demoOrganization, "", e.ID)
	require.NoError(t, err)
	item := vault.Item{Place: vault.InColumn("t", "c"), Value: vault.NewValue("x")}
	_, err = r.services.vault.service.Tokenize(ctx, demoOrganization, "v", []vault.Item{item, item, item})
	require.NoError(t, err)
	_, err = r.services.vault.service.Tokenize(ctx, demoOrganization, "other", []vault.Item{item})
	require.Error(t, err, "which does not count")
	after := r.numbers(cookie)
	require.Equal(t, map[string]string{
		"submitted": "3", "completed": "0", "tokenized": "3", "detokenized": "0", "issued": "1", "accepted": "0", "searches": "0", "scored": "0",
		"triggers-waiting": "2", "triggers-failed": "0", "triggers-cancelled": "1", "searches-waiting": "0", "searches-failed": "0",
	}, after)
	page := r.send("/", cookie, nil).Body.String()
	for id, value := range after {
		require.Contains(t, page, `<dd id="`+id+`">`+value+`</dd>`)
	}
	require.Contains(t, page, `<time datetime="`+r.settings.tally.since.UTC().Format(time.RFC3339)+`">`)
}

// TestDemoCommandsOnThePage: the demo prints the same commands.
func TestDemoCommandsOnThePage(t *testing.T) {
	printed := demoOutput(t, false, true)
	page := &demoPage{URL: "http://127.0.0.1:8080", Key: regexp.MustCompile(`sk-[\w-]+`).FindString(printed), Token: regexp.MustCompile(`at-[\w-]+`).FindString(printed)}
	commands, err := page.commands()
	require.NoError(t, err)
	require.Len(t, commands, 3)
	for _, command := range commands {
		require.Contains(t, printed, "\n# "+command.Title+"\n"+command.Text+"\n")
	}
}

// startedDemo has the output and the log of the program.
type startedDemo struct{ stdout, stderr bytes.Buffer }

// startDemoServer runs the program until it has printed a text.
func startDemoServer(t *testing.T, until string, args ...string) *startedDemo {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	s := new(startedDemo)
	out := writerFunc(func(text []byte) (int, error) {
		s.stdout.Write(text)
		if strings.Contains(s.stdout.String(), until) {
			stop()
		}
		return len(text), nil
	})
	require.NoError(t, start(ctx, append(args, "-memory", "-addr", "127.0.0.1:0"), nil, out, &s.stderr))
	return s
}

// TestDemoPrintsALink: of the public address, after the line that tells where it listens, and
// in no log line. A server with a document prints none.
func TestDemoPrintsALink(t *testing.T) {
	s := startDemoServer(t, "/docs\n", "-public-url", "https://demo.example.com/tools/")
	first, rest, _ := strings.Cut(s.stdout.String(), "\n")
	require.Regexp(t, `^listening on http://127\.0\.0\.1:\d+$`, first)
	link := regexp.MustCompile(`(?m)^# https://demo\.example\.com/tools/#([\w-]{32})$`).FindStringSubmatch(rest)
	require.NotNil(t, link, rest)
	require.NotContains(t, s.stderr.String(), link[1])

	config := filepath.Join(t.TempDir(), "acme.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"organizations":[{"id":"acme"}]}`), 0o600))
	s = startDemoServer(t, "\n", "-config", config)
	require.Regexp(t, `^listening on [^#\n]+\n$`, s.stdout.String())
}
