package httpadapter_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// requirePage checks what every answer at AcceptPath must have, and returns the page
// without its style and its script.
func requirePage(t *testing.T, w *httptest.ResponseRecorder, status int, title string) string {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	before, rest, _ := strings.Cut(w.Body.String(), "<style>")
	style, after, found := strings.Cut(rest, "</style>")
	require.True(t, found)
	page, scripts := before+after, ""
	if before, rest, found := strings.Cut(page, "<script>"); found {
		script, after, _ := strings.Cut(rest, "</script>")
		page, scripts = before+after, "; script-src "+hashOf(script)
	}
	want := http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, "Allow": w.Header()["Allow"],
		"Referrer-Policy": {"no-referrer"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}, "X-Robots-Tag": {"noindex"},
		"Content-Security-Policy": {"default-src 'none'; style-src " + hashOf(style) + scripts +
			"; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
	}
	if status == http.StatusServiceUnavailable {
		want["Retry-After"] = []string{"5"}
	}
	if length := w.Header()["Content-Length"]; length != nil {
		want["Content-Length"] = []string{strconv.Itoa(w.Body.Len())}
	}
	require.Equal(t, want, withEmpty(withoutID(w), "Allow"))
	require.Equal(t, strings.Contains(page, "<code>"), scripts != "", "a script for the button alone")
	require.Contains(t, page, `<html lang="en">`)
	require.Contains(t, page, `<meta name="viewport" content="width=device-width, initial-scale=1">`)
	require.Contains(t, page, "<title>"+title+"</title>")
	require.Contains(t, page, "<h1>"+title+"</h1>")
	require.Equal(t, 1, strings.Count(page, "<main>"))
	for _, never := range []string{"<script", "style=", "href=", "src=", "action=", "onclick", "<img", "<link", "<iframe", "ZgotmplZ"} {
		require.NotContains(t, page, never)
	}
	return page
}

// hashOf is how a policy names a style or a script.
func hashOf(text string) string {
	digest := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'"
}

// withEmpty adds a header without values, for comparing.
func withEmpty(h http.Header, name string) http.Header {
	if _, ok := h[name]; !ok {
		h[name] = nil
	}
	return h
}

const (
	acceptPath   = httpadapter.AcceptPath
	acceptButton = "<form method=\"post\">\n<button>Accept the invitation</button>\n</form>"
	titleOpen    = "You are invited"
	titleDone    = "The invitation is accepted"
	titleGone    = "This invitation cannot be used"
	titleRefused = "You cannot accept this invitation"
	titleDown    = "This does not work at the moment"
)

// words is the text of a page.
func words(page string) string {
	return html.UnescapeString(strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")), " "))
}

func TestAcceptPage(t *testing.T) {
	granted := make(chan authmgmt.Acceptance, 1)
	r := newAuthRig(t, nil, &authmgmt.Options{Grant: func(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
		granted <- a
		return mortise.NewSecret("at-shown-once <&>"), nil
	}})
	i := r.invitation("acme", "i1", access.Role{ID: "editor"}, access.Role{ID: "viewer", Resource: "dataset"}, viewerOf("d1"))
	link := acceptPath + r.link(&i)
	for range 3 { // looking changes nothing, nor does it for programs that look at links
		page := requirePage(t, r.as("", "GET", link, ""), http.StatusOK, titleOpen)
		require.Contains(t, words(page), "From Grace To Ada , i1@example.com Organization acme Access editor , for the whole organization "+
			"viewer , for every dataset viewer , for the dataset d1 Valid until 24 January 2026, 09:12 UTC")
		require.Contains(t, page, `<time datetime="2026-01-24T09:12:45Z">`)
		require.Contains(t, page, acceptButton)
		require.Empty(t, r.as("", "HEAD", link, "").Body.String())
	}
	page := requirePage(t, r.as("", "POST", link, ""), http.StatusOK, titleDone)
	require.Contains(t, page, "<code>at-shown-once &lt;&amp;&gt;</code>")
	require.Contains(t, words(page), "It is shown once, on this page, and cannot be shown again.")
	require.NotContains(t, page, "<form")
	require.NotContains(t, page, "Valid until")
	require.Equal(t, "i1@example.com", (<-granted).Invitation.AcceptedBy)
	for _, method := range []string{"GET", "POST"} {
		page := requirePage(t, r.as("", method, link, ""), http.StatusNotFound, titleGone)
		require.Contains(t, words(page), "ask the person who invited you for a new invitation.")
	}
}

// TestAcceptedPageNamesTheToken: what it is for, how long it works, and where to go next.
// A host's own reply is not called a token.
func TestAcceptedPageNamesTheToken(t *testing.T) {
	opts := everyAuthOption
	opts.AcceptNext = "https://app.example.com/start?from=invitation"
	r := newAuthRig(t, &opts, &authmgmt.Options{GrantToken: 90 * 24 * time.Hour})
	i := r.invitation("acme", "i1", access.Role{ID: "viewer"})
	w := r.as("", "POST", acceptPath+r.link(&i), "")
	const next = `<p>Continue to <a href="https://app.example.com/start?from=invitation">https://app.example.com/start?from=invitation</a></p>`
	require.Contains(t, w.Body.String(), next)
	require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"), "the link's token is for this page alone")
	require.Regexp(t, `<code>at-[0-9a-f]{64}</code>`, w.Body.String())
	require.Contains(t, w.Body.String(), `<button type="button" hidden>Copy</button>`)
	text := words(w.Body.String())
	require.Contains(t, text, "Your access token A program that has this token acts for you, with the access above.")
	require.Contains(t, text, "The token works until "+begin.Add(90*24*time.Hour).UTC().Format("2 January 2006, 15:04 UTC")+" , unless it is revoked before.")
	require.NotContains(t, text, "Yours to keep")

	i = r.invitation("acme", "i2")
	require.NotContains(t, r.as("", "GET", acceptPath+r.link(&i), "").Body.String(), "Continue to", "it is not accepted")

	r = newAuthRig(t, nil, &authmgmt.Options{Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
		return mortise.NewSecret("a door code"), nil
	}})
	i = r.invitation("acme", "i1")
	page := requirePage(t, r.as("", "POST", acceptPath+r.link(&i), ""), http.StatusOK, titleDone)
	require.Contains(t, words(page), "Yours to keep Copy this now.")
	require.NotContains(t, words(page), "access token")
}

// TestAcceptNextIsAnAddress: a page with a link that a browser would not follow is not
// mounted.
func TestAcceptNextIsAnAddress(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	for _, bad := range []string{"javascript:alert(1)", "app.example.com", "/start", "https://", "https://ada:x@example.com/", "http://[::1"} {
		opts := everyAuthOption
		opts.AcceptNext = bad
		_, err := httpadapter.NewAuthMgmt(r.service, httpadapter.Bearer(httpadapter.AccessTokens(r.service)), &opts)
		require.ErrorContains(t, err, "AcceptNext", bad)
	}
}

func TestAcceptPageWithoutReplyOrRoles(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	i := r.invitation("acme", "i1")
	link := acceptPath + r.link(&i)
	require.Contains(t, words(requirePage(t, r.as("", "GET", link, ""), http.StatusOK, titleOpen)), "Access Full access to everything in the organization")
	page := requirePage(t, r.as("", "POST", link, "a=b", header("Content-Type", "application/x-www-form-urlencoded")), http.StatusOK, titleDone)
	require.NotContains(t, page, "<code")
	require.NotContains(t, page, "once")
}

func TestLinksThatOpenNothing(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	i := r.invitation("acme", "i1")
	good := r.link(&i)
	cancelled := r.invitation("acme", "i2")
	require.NoError(t, r.service.CancelInvitation(t.Context(), "acme", root, "i2"))
	replaced := r.invitation("acme", "i3")
	_, err := r.service.ResendInvitation(t.Context(), "acme", root, "i3")
	require.NoError(t, err)
	first := r.as("", "GET", acceptPath+"x", "")
	requirePage(t, first, http.StatusNotFound, titleGone)
	for name, token := range map[string]string{
		"cancelled": r.link(&cancelled), "replaced": r.link(&replaced), "cut": good[:len(good)-1], "longer": good + "A",
		"no secret": strings.Split(good, ".")[0] + ".", "name alone": strings.Split(good, ".")[0], "padding": good + "%3D",
		"U+0000": "a%00.b", "no UTF-8": "%ff.%fe", "encoded slash": "a%2Fb", "script": "%3Cscript%3Ealert(1)%3C%2Fscript%3E", "long": strings.Repeat("A", 5000) + ".A",
		"dots": "...", "space": "%20", "CRLF": "a%0d%0aSet-Cookie:%20a=b", "upper case": strings.ToUpper(good),
	} {
		for _, method := range []string{"GET", "POST"} {
			w := r.as("", method, acceptPath+token, "")
			requirePage(t, w, http.StatusNotFound, titleGone)
			require.Equal(t, first.Body.String(), w.Body.String(), name)
			require.Equal(t, withEmpty(withoutID(first), "Allow"), withEmpty(withoutID(w), "Allow"), name)
		}
	}
	for _, path := range []string{acceptPath, acceptPath + good + "/", acceptPath + good + "/x", acceptPath + "/" + good, acceptPath + "./" + good} {
		requirePage(t, r.as("", "GET", path, ""), http.StatusNotFound, titleGone)
		requirePage(t, r.as("", "PUT", path, ""), http.StatusNotFound, titleGone)
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS"} {
		w := r.as("", method, acceptPath+good, "")
		requirePage(t, w, http.StatusMethodNotAllowed, "This page cannot do that")
		require.Equal(t, "GET, HEAD, POST", w.Header().Get("Allow"))
	}
	r.advance(7*24*time.Hour - time.Microsecond)
	requirePage(t, r.as("", "GET", acceptPath+good, ""), http.StatusOK, titleOpen)
	r.advance(time.Microsecond)
	requirePage(t, r.as("", "POST", acceptPath+good, ""), http.StatusNotFound, titleGone)
}

// An error of the host's may be anything, also one of the domain's.
func TestAcceptPageFailures(t *testing.T) {
	var admit, grant error
	r := newAuthRig(t, nil, &authmgmt.Options{
		Admit: func(context.Context, authmgmt.Invitation, mortise.Actor) error { return admit },
		Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.NewSecret("the reply"), grant
		},
	})
	i := r.invitation("acme", "i1", access.Role{ID: "viewer"})
	link := acceptPath + r.link(&i)
	for _, method := range []string{"Invitation", "UpdateInvitation"} {
		r.faults(method)
		w := r.as("", "POST", link, "")
		require.NotContains(t, requirePage(t, w, http.StatusServiceUnavailable, titleDown), "refused")
	}
	requirePage(t, r.as("", "GET", link, ""), http.StatusOK, titleOpen)
	r.faults("Invitation")
	requirePage(t, r.as("", "GET", link, ""), http.StatusServiceUnavailable, titleDown)
	r.faults()
	for _, host := range []error{errors.New("the domain example.com is blocked"), mortise.ErrNotFound, mortise.ErrUnavailable, httpadapter.ErrUnauthenticated} {
		admit = host
		page := requirePage(t, r.as("", "POST", link, ""), http.StatusForbidden, titleRefused)
		require.NotContains(t, page, "blocked")
		require.NotContains(t, page, "<form")
	}
	admit = nil
	for _, host := range []error{errors.New("mail server down"), mortise.ErrNotFound, mortise.ErrUnavailable, authmgmt.ErrForbidden, authmgmt.ErrUnattended} {
		grant = host
		page := requirePage(t, r.as("", "POST", link, ""), http.StatusConflict, titleDone)
		require.Contains(t, words(page), "Your access is being set up. Press the button again in a moment.")
		require.Contains(t, page, acceptButton)
		require.NotContains(t, page, "mail server")
		requirePage(t, r.as("", "POST", link, ""), http.StatusConflict, titleDone) // too early
		require.Contains(t, requirePage(t, r.as("", "GET", link, ""), http.StatusConflict, titleDone), acceptButton, "a reload keeps the button")
		r.advance(time.Hour)
	}
	grant = nil
	require.Contains(t, requirePage(t, r.as("", "POST", link, ""), http.StatusOK, titleDone), "the reply")
}

func TestAcceptedOnce(t *testing.T) {
	var mu sync.Mutex
	grants := 0
	r := newAuthRig(t, nil, &authmgmt.Options{Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
		mu.Lock()
		defer mu.Unlock()
		grants++
		return mortise.NewSecret("the reply"), nil
	}})
	i := r.invitation("acme", "i1")
	address := r.server.URL + acceptPath + r.link(&i)
	codes := make(chan int, 8)
	var wg sync.WaitGroup
	for range cap(codes) {
		wg.Go(func() {
			resp, err := http.Post(address, "", nil)
			if err != nil {
				codes <- 0
				return
			}
			_ = resp.Body.Close()
			codes <- resp.StatusCode
		})
	}
	wg.Wait()
	close(codes)
	won := 0
	for code := range codes {
		require.Contains(t, []int{http.StatusOK, http.StatusNotFound, http.StatusConflict}, code)
		if code == http.StatusOK {
			won++
		}
	}
	require.Equal(t, 1, won)
	require.Equal(t, 1, grants)
}

// What people write stays text, in its place and in its direction.
func TestAcceptPageShowsTextAsText(t *testing.T) {
	const hostile = "</bdi></main><script>alert('x')</script>\"' onclick=\u202e\u2066\u200f{{.Style}}<!--"
	catalogue, err := access.NewCatalogue(map[string][]access.Action{
		"<b>boss</b>": {access.AnyAction}, "admin": nil, "editor": nil, "viewer": nil,
	})
	require.NoError(t, err)
	catalogue, err = catalogue.WithResources(hostile)
	require.NoError(t, err)
	r := newAuthRig(t, nil, &authmgmt.Options{
		Catalogue: catalogue,
		Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.NewSecret(hostile), nil
		},
	})
	seen := strings.NewReplacer("\u202e", "", "\u2066", "", "\u200f", "") // names cannot have these
	readable := seen.Replace(hostile)
	i, err := r.service.ImportInvitation(t.Context(), hostile, root, authmgmt.NewInvitation{
		ID: hostile, Inviter: readable, Name: readable, Email: "a'&@{{.}}", // it takes no <, > and ", and nothing invisible
		Roles: []access.Role{{ID: "<b>boss</b>", Resource: hostile, ResourceInstance: hostile}},
	})
	require.NoError(t, err)
	link := acceptPath + r.link(&i)
	for _, method := range []string{"GET", "POST"} {
		page := r.as("", method, link, "").Body.String()
		escaped := html.EscapeString(hostile)
		require.GreaterOrEqual(t, strings.Count(seen.Replace(html.UnescapeString(page)), readable), 5)
		for _, never := range []string{"<script>alert", "<b>", "<!--", "</bdi></main>"} {
			require.NotContains(t, page, never)
		}
		require.NotContains(t, escaped, "<")
		// Every right-to-left mark stands in an element that isolates it, or in the code
		// that is to be copied.
		bare := regexp.MustCompile(`(?s)<bdi>[^<]*</bdi>|<code>[^<]*</code>`).ReplaceAllString(page, "")
		require.NotContains(t, bare, "\u202e")
		require.Contains(t, bare, "</main>")
	}
}

// The body of the POST is nobody's business: its type and its length do not matter, and
// it is not waited for.
func TestAcceptIgnoresTheBody(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	address := strings.TrimPrefix(r.server.URL, "http://")
	for n, head := range []string{"Content-Length: 100\r\n", "Content-Length: 99999999999\r\n", "Transfer-Encoding: chunked\r\n", "Content-Type: nonsense\r\nContent-Length: 5\r\n"} {
		i := r.invitation("acme", string(rune('a'+n)))
		request := "POST " + acceptPath + r.link(&i) + " HTTP/1.1\r\nHost: x\r\n" + head + "\r\n"
		require.Equal(t, "HTTP/1.1 200 OK", raw(t, address, request, false), head)
	}
}

func TestAcceptPageIsOptional(t *testing.T) {
	r := newAuthRig(t, &httpadapter.AuthMgmtOptions{}, nil)
	i := r.invitation("acme", "i1")
	for _, method := range []string{"GET", "POST"} {
		requireDetail(t, r.as("full", method, acceptPath+r.link(&i), ""), http.StatusNotFound)
		requireDetail(t, r.as("full", method, login, ""), http.StatusNotFound)
	}
	requireDetail(t, r.as("full", "POST", clients, ""), http.StatusNotFound)
	requireDetail(t, r.as("full", "GET", clients+"/c1", ""), http.StatusMethodNotAllowed)
}

// Behind a prefix and beside other services, the page and the token endpoint keep their
// own shapes.
func TestJoinKeepsTheShapesOfAuthMgmt(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	i := r.invitation("acme", "i1")
	joined, err := httpadapter.Join("/base", newRig(t, nil).handler, r.handler)
	require.NoError(t, err)
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		joined.ServeHTTP(w, httptest.NewRequest(method, "/base"+path, nil))
		return w
	}
	link := acceptPath + r.link(&i)
	requirePage(t, ask("GET", link), http.StatusOK, titleOpen)
	requirePage(t, ask("PUT", link), http.StatusMethodNotAllowed, "This page cannot do that")
	requirePage(t, ask("GET", link+"/"), http.StatusNotFound, titleGone)
	requirePage(t, ask("POST", link), http.StatusOK, titleDone)
	requireTokenError(t, ask("GET", login), http.StatusMethodNotAllowed, "invalid_request")
	requireDetail(t, ask("GET", login+"/x"), http.StatusNotFound)
	requireDetail(t, ask("GET", "/api/v1/auth-management/nothing"), http.StatusNotFound)
	requireDetail(t, ask("DELETE", invitations), http.StatusUnauthorized)
	for _, unclean := range []string{clients + "/c1//", clients + "/..", "//api/v1/auth-management/clients"} {
		requireDetail(t, ask("GET", unclean), http.StatusNotFound)
	}
	requirePage(t, ask("GET", "/api//v1/auth-management/accept-invitation/x"), http.StatusNotFound, titleGone)
}
