package e2e

import (
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestSearchPage uses the search page as a browser does.
func TestSearchPage(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	p := buildServer(t)
	m := newMedia(t)
	m.mp4("clips/clip.mp4", whiteNoise(14, 1), dialTone(12), whiteNoise(6, 2))
	m.wav("tone.wav", dialTone(12))
	m.wav("long.wav", whiteNoise(40, 3))
	m.ffmpeg("-i", "tone.wav", "old.avi")
	m.write("page.html", []byte("<script>alert(1)</script>"))
	config := m.document(
		clip{"clip", "clips/clip.mp4", object{"show": "news", "<b>": `"><script>alert(2)</script>`, "season": 3}},
		clip{"tone", "tone.wav", object{"show": "tones"}}, clip{"long", "long.wav", object{"show": "long"}}, clip{"page", "page.html", nil},
		clip{"old", "old.avi", object{"show": "old film"}})
	s := p.start(t, nil, "-config", config).guardMedia(m)
	s.awaitIngestion()
	for name, test := range map[string]func(*testing.T, *server, *media){
		"login":    testPageLogin,
		"search":   testPageSearch,
		"problems": testPageProblems,
		"refusals": testPageRefusals,
		"media":    testPageMedia,
		"sounds":   testPageSounds,
	} {
		t.Run(name, func(sub *testing.T) {
			s.t = sub // they share one server and its files, in any order
			defer func() { s.t = t }()
			test(sub, s, m)
		})
	}
	t.Run("cancel", func(t *testing.T) {
		testPageCancel(t, p)
	})
	t.Run("https", func(t *testing.T) { testPageSecure(t, p, m) })
}

// browser keeps cookies as a browser does, and follows no redirect by itself.
type browser struct {
	t    testing.TB
	s    *server
	jar  http.CookieJar
	last string // the address of what was shown last
}

func newBrowser(t *testing.T, s *server) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{t: t, s: s, jar: jar, last: s.url + "/"}
}

// open asks for a link on the page that was shown last, with a form if there is one.
// Headers are pairs.
func (b *browser) open(link string, form url.Values, headers ...string) answer {
	b.t.Helper()
	base, err := url.Parse(b.last)
	require.NoError(b.t, err)
	to, err := base.Parse(link)
	require.NoError(b.t, err)
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
		headers = append([]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", b.s.url, "Sec-Fetch-Site", "same-origin"}, headers...)
	}
	for _, cookie := range b.jar.Cookies(to) {
		headers = append(headers, "Cookie", cookie.String())
	}
	a := b.s.do(method, to.RequestURI(), "", body, headers...)
	b.jar.SetCookies(to, (&http.Response{Header: a.header}).Cookies())
	b.last = to.String()
	if a.status == http.StatusOK && strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		b.checkPage(a)
	}
	return a
}

// follow is open, and goes where that leads.
func (b *browser) follow(link string, form url.Values) answer {
	b.t.Helper()
	a := b.open(link, form)
	require.Equal(b.t, http.StatusSeeOther, a.status, a.body)
	to := a.header.Get("Location")
	assert.NotContains(b.t, to, "://", "a proxy may have put the page under another path")
	assert.False(b.t, strings.HasPrefix(to, "/"), to)
	return b.open(to, nil)
}

// checkPage looks at what every page has.
func (b *browser) checkPage(a answer) {
	b.t.Helper()
	policy := a.header.Get("Content-Security-Policy")
	assert.Contains(b.t, policy, "default-src 'none'")
	assert.NotContains(b.t, policy, "unsafe")
	assert.Equal(b.t, "nosniff", a.header.Get("X-Content-Type-Options"))
	assert.Equal(b.t, "no-store", a.header.Get("Cache-Control"))
	assert.NotRegexp(b.t, `<script[^>]*>[^<]|<style|style=| on[a-z]+="`, a.body, "the policy forbids it")
	for _, token := range vaultTokens() {
		assertUntold(b.t, token, a.body)
	}
}

// login logs in and returns the page after that.
func (b *browser) login(token string) answer {
	b.t.Helper()
	b.open("/search", nil)
	return b.follow("search/login", url.Values{"token": {token}})
}

// search starts a search, waits for its end and returns the page with the results.
func (b *browser) search(form url.Values) (page answer) {
	b.t.Helper()
	page = b.follow("/search/start", form)
	b.s.await("the search to end", func() bool {
		page = b.open(b.last, nil)
		return !strings.Contains(page.body, `id="progress"`)
	})
	require.Equal(b.t, http.StatusOK, page.status)
	return page
}

// sounds returns the sounds that the form proposes.
func (a answer) sounds() []string {
	_, list, _ := strings.Cut(a.body, `<datalist id="classes">`)
	list, _, _ = strings.Cut(list, "</datalist>")
	return answer{body: list}.links("value")
}

// options returns the choices of a select.
func (a answer) options(name string) (all []string) {
	_, list, _ := strings.Cut(a.body, `name="`+name+`"`)
	list, _, _ = strings.Cut(list, "</select>")
	for _, option := range regexp.MustCompile(`<option[^>]*>([^<]*)<`).FindAllStringSubmatch(list, -1) {
		all = append(all, html.UnescapeString(option[1]))
	}
	return all
}

// links returns the values of an attribute.
func (a answer) links(attribute string) (all []string) {
	for _, found := range regexp.MustCompile(attribute+`="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		all = append(all, html.UnescapeString(found[1]))
	}
	return all
}

func testPageLogin(t *testing.T, s *server, _ *media) {
	b := newBrowser(t, s)
	a := b.open("/search", nil)
	assert.Equal(t, http.StatusOK, a.status)
	assert.Contains(t, a.body, `type="password"`)
	for _, path := range []string{"/search/run?dataset=d1&run=1", "/search/status?dataset=d1&run=1", "/search/media?dataset=d1&video=tone", "/search/picture?dataset=d1&video=clip&at=0",
		"/search/sound?dataset=d1&video=clip&at=0", "/search/spectrogram?dataset=d1&video=tone&at=0&to=10000"} {
		a = b.open(path, nil)
		assert.Equal(t, http.StatusUnauthorized, a.status, path)
		assert.Contains(t, a.body, `type="password"`)
	}
	assert.Equal(t, http.StatusUnauthorized, b.open("/search/start", url.Values{"dataset": {"d1"}}).status)
	for _, wrong := range []string{"", "x", viewerToken + "0", goodKey, strings.Repeat("x", 2000)} {
		a = b.open("/search/login", url.Values{"token": {wrong}})
		assert.Equal(t, http.StatusUnauthorized, a.status)
		assert.Contains(t, a.body, `role="alert"`)
		assert.Empty(t, a.header.Values("Set-Cookie"))
		if wrong != "" && wrong != "x" {
			assert.NotContains(t, a.body, wrong)
		}
	}

	// After the login it goes on to the run that was asked for, and nowhere else.
	a = b.open("/search/login", url.Values{"token": {" " + viewerToken + "\n"}, "dataset": {"d1"}, "run": {"//evil.example/?"}})
	assert.Equal(t, "run?dataset=d1&run=%2F%2Fevil.example%2F%3F", a.header.Get("Location"))
	cookie := a.header.Get("Set-Cookie")
	assert.Contains(t, cookie, "; HttpOnly")
	assert.Contains(t, cookie, "; SameSite=Strict")
	assert.NotContains(t, cookie, "Secure", "this server is asked without https")
	assert.NotContains(t, cookie, "Path")
	assert.NotContains(t, cookie, "Max-Age")
	assert.Contains(t, b.open("/search", nil).body, "<bdi>viewer</bdi>")
	assert.Empty(t, b.jar.Cookies(parseURL(t, s.url+"/triggers")), "the token is for the page alone")

	// Each sees their own.
	for token, datasets := range map[string][]string{rootToken: {"d1", "d2"}, viewerToken: {"d1", "d2"}, elsewhereUser: {"d2"}, otherToken: {"d1"}} {
		assert.Equal(t, datasets, newBrowser(t, s).login(token).options("dataset"))
	}
	a = b.follow("/search/logout", url.Values{})
	assert.Contains(t, a.body, `type="password"`)
	assert.Empty(t, b.jar.Cookies(parseURL(t, s.url+"/search")))
}

func parseURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

func testPageSearch(t *testing.T, s *server, m *media) {
	b := newBrowser(t, s)
	a := b.login(viewerToken)
	assert.Contains(t, a.sounds(), "Smoke detector, smoke alarm")
	assert.Len(t, a.sounds(), 11, "the classes of the scorer")
	assert.True(t, slices.IsSorted(a.sounds()))
	assert.Equal(t, []string{"=", "!=", "contains", ">", "<", ">=", "<="}, a.options("op")[:7])

	page := b.search(url.Values{"dataset": {"d1"}, "class": {"Dial tone"}, "score": {"0,8"}, "limit": {"2"},
		"key": {"", "season", ""}, "op": {"=", ">=", "="}, "value": {"", "2.5", ""}})
	assert.Contains(t, page.body, "2 segments found.")
	assert.Equal(t, 1, strings.Count(page.body, "<li>\n<h2>"), "they overlap: %s", page.body)
	assert.Contains(t, page.body, "<li><bdi>season</bdi> &gt;= <bdi>2.5</bdi></li>")
	assert.Contains(t, page.body, `<dt>show</dt><dd>news</dd>`)
	assert.Contains(t, page.body, `<dt>&lt;b&gt;</dt><dd>&#34;&gt;&lt;script&gt;alert(2)&lt;/script&gt;</dd>`)
	assert.Regexp(t, `<h2><bdi>clip</bdi> <span class="time">0:14 to 0:26</span></h2>`, page.body)
	assert.Regexp(t, `<meter min="0" max="1" value="(1|0\.[89][0-9]*)"`, page.body)
	assert.NotContains(t, page.body, "clip.mp4", "a path")

	videos := regexp.MustCompile(`<video controls preload="none" poster="([^"]*)" src="([^"]*)"`).FindAllStringSubmatch(page.body, -1)
	require.Len(t, videos, 1, page.body)
	assert.Equal(t, "media?dataset=d1&video=clip#t=14,26", html.UnescapeString(videos[0][2]))
	run := b.last
	picture := b.open(html.UnescapeString(videos[0][1]), nil)
	assert.Equal(t, "image/jpeg", picture.header.Get("Content-Type"))
	assert.True(t, strings.HasPrefix(picture.body, "\xff\xd8\xff"))
	b.last = run
	assert.Equal(t, http.StatusNotModified, b.open(html.UnescapeString(videos[0][1]), nil, "If-None-Match", picture.header.Get("ETag")).status)
	b.last = run
	again := b.open(page.links("href")[len(page.links("href"))-1], nil)
	assert.Contains(t, again.body, `name="class" list="classes" required value="Dial tone"`)

	page = b.search(url.Values{"dataset": {"d1"}, "class": {"Dial tone"}, "key": {"show"}, "op": {"contains"}, "value": {"one"}})
	assert.Contains(t, page.body, `<audio controls preload="none" src="media?dataset=d1&amp;video=tone#t=0,12"`)
	assert.NotContains(t, page.body, "<video")
	assert.Regexp(t, `<ul class="heard"[^>]*>\n(<li><bdi>[^<]*</bdi> [0-9]+ %</li>\n)*<li><bdi>Dial tone</bdi> (100|9[0-9]) %</li>`, page.body)
	drawn := page.links(`<img class="spectrogram" src`)
	require.Len(t, drawn, 1)
	picture = b.open(drawn[0], nil)
	assert.Equal(t, "image/png", picture.header.Get("Content-Type"))
	assert.True(t, strings.HasPrefix(picture.body, "\x89PNG"), drawn)
	page = b.search(url.Values{"dataset": {"d1"}, "class": {"Mains hum"}, "score": {"0.9"}})
	assert.Contains(t, page.body, "Nothing was found.")
	assert.Contains(t, page.body, "1 of 5 videos could not be searched.")
	assert.Contains(t, b.open(strings.Replace(b.last, "/run?", "/status?", 1), nil).body, `"ended":true`)
}

func testPageProblems(t *testing.T, s *server, _ *media) {
	b := newBrowser(t, s)
	b.login(viewerToken)
	a := b.open("/search/start", url.Values{"dataset": {"d1"}, "class": {"Bark"}, "score": {"7"}, "limit": {"2000"},
		"key": {"", "nothing", "season", " show "}, "op": {"=", "=", ">", "~"}, "value": {"", "x", "<many>", "y"}})
	assert.Equal(t, http.StatusUnprocessableEntity, a.status)
	b.checkPage(a)
	for id, want := range map[string]string{
		"class-problem": "No sound has this name. Choose one from the list", "score-problem": "The least score must be 0 to 1.", "limit-problem": "The number of results must be 1 to 1000.",
		"filter-0-problem": "No video of the dataset has this metadata key.", "filter-1-problem": "The value must be a number, because the operator is &gt;.",
		"filter-2-problem": "The op is no operator.",
	} {
		assert.Contains(t, a.body, `id="`+id+`">`+want, id)
		assert.Contains(t, a.body, id+`"`, "a field that refers to it")
	}
	for _, kept := range []string{`value="&lt;many&gt;"`, `value="show"`, `value="2000"`, `value="7"`, "<option selected>&gt;</option>"} {
		assert.Contains(t, a.body, kept)
	}
	wrong := url.Values{"dataset": {"d1"}, "class": {"dail tone"}, "score": {"0.5"}, "key": {"show"}, "op": {"="}, "value": {"tones"}}
	a = b.open("/search/start", wrong)
	assert.Equal(t, http.StatusUnprocessableEntity, a.status)
	assert.Contains(t, a.body, `id="class-problem">No sound has this name. Did you mean: <button class="quiet" name="meant" value="Dial tone"`)
	assert.Less(t, strings.Index(a.body, `class="unseen"`), strings.Index(a.body, `name="meant"`), "Enter sends what was typed: that is the first button")
	assert.Contains(t, a.body, `value="dail tone"`)
	wrong.Set("meant", "Dial tone")
	assert.Contains(t, b.search(wrong).body, "<bdi>tone</bdi>", "and the conditions stay")
	a = b.open("/search/start", url.Values{"limit": {"x"}, "score": {"x"}, "key": {""}, "value": {"x"}})
	assert.Equal(t, http.StatusUnprocessableEntity, a.status)
	for _, want := range []string{"Choose a dataset.", "Choose a sound.", "must be a whole number", "must be a number from 0 to 1", "Say which metadata this value is of."} {
		assert.Contains(t, a.body, want)
	}
}
