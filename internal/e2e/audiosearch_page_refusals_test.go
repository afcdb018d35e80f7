package e2e

import (
	"encoding/binary"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testPageRefusals(t *testing.T, s *server, _ *media) {
	owner, elsewhere, other := newBrowser(t, s), newBrowser(t, s), newBrowser(t, s)
	owner.login(viewerToken)
	elsewhere.login(elsewhereUser)
	other.login(otherToken)
	search := url.Values{"dataset": {"d1"}, "class": {"Dial tone"}, "key": {"show"}, "op": {"="}, "value": {"tones"}}
	owner.search(search)
	_, run, _ := strings.Cut(owner.last, "/search/run?")

	// What is somebody else's.
	for _, link := range []string{"/search/run?" + run, "/search/status?" + run, "/search/media?dataset=d1&video=tone", "/search/picture?dataset=d1&video=clip&at=0",
		"/search/sound?dataset=d1&video=clip&at=2000"} {
		assert.Equal(t, http.StatusOK, owner.open(link, nil).status, link)
		assert.Equal(t, http.StatusForbidden, elsewhere.open(link, nil).status, link)
		assert.Equal(t, http.StatusNotFound, other.open(link, nil).status, link)
	}
	assert.Equal(t, http.StatusForbidden, elsewhere.open("/search/start", search).status)
	assert.Equal(t, http.StatusForbidden, owner.open("/search/cancel?"+run, url.Values{}).status, "a viewer cancels nothing")
	a := other.open("/search/start", url.Values{"dataset": {"d2"}, "class": {"Dial tone"}})
	assert.Equal(t, http.StatusUnprocessableEntity, a.status)
	assert.Contains(t, a.body, "There is no such dataset.")

	// What is not there, or is no video's ID.
	for _, link := range []string{
		"/search/run?dataset=d2&" + strings.SplitN(run, "&", 2)[1], "/search/run?dataset=d1&run=1", "/search/run?dataset=d1&run=x", "/search/run",
		"/search/media?dataset=d1&video=nothing", "/search/media?dataset=d1&video=../acme.json", "/search/media?dataset=d1&video=tone.wav", "/search/media?dataset=d1&video=/etc/passwd", "/search/media",
		"/search/picture?dataset=d1&video=clip&at=1", "/search/picture?dataset=d1&video=clip&at=-1", "/search/picture?dataset=d1&video=clip", "/search/picture?dataset=d1&video=tone&at=0",
		"/search/sound?dataset=d1&video=tone&at=1", "/search/sound?dataset=d1&video=tone&at=-2000", "/search/sound?dataset=d1&video=tone", "/search/sound?dataset=d1&video=tone&at=200000",
		"/search/sound?dataset=d1&video=page&at=0", "/search/sound?dataset=d1&video=nothing&at=0",
		"/search/nothing", "/search/search.html", "/search/media/x",
	} {
		a := owner.open(link, nil)
		assert.Equal(t, http.StatusNotFound, a.status, link)
		assert.True(t, strings.HasPrefix(a.header.Get("Content-Type"), "text/html"), link)
	}
	for _, path := range []string{"/searching", "/Search", "//search"} {
		assert.Contains(t, s.do("GET", path, "", "").body, `"error":"not_found"`, path)
	}
	assert.Equal(t, "../search", owner.open("/search/", nil).header.Get("Location"))

	// Another site's form.
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, {"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:9"},
		{"Sec-Fetch-Site", "cross-site", "Origin", "null"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, {"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		for _, link := range []string{"/search/start", "/search/login", "/search/logout", "/search/cancel"} {
			a := owner.open(link, search, headers...)
			assert.Equal(t, http.StatusForbidden, a.status, "%s %v", link, headers)
			assert.Contains(t, a.body, "sent from another site")
			assert.Empty(t, a.header.Get("Set-Cookie"))
		}
	}

	// Other methods, and too much.
	for method, path := range map[string]string{"POST": "/search", "PUT": "/search/media", "DELETE": "/search/run", "GET": "/search/start"} {
		a := s.do(method, path, "", "")
		assert.Equal(t, http.StatusMethodNotAllowed, a.status, path)
		assert.NotEmpty(t, a.header.Get("Allow"))
	}
	assert.Equal(t, http.StatusOK, s.do("HEAD", "/search", "", "").status)
	assert.Equal(t, http.StatusRequestEntityTooLarge, owner.open("/search/start", url.Values{"class": {strings.Repeat("x", 70<<10)}}).status)
	assert.Equal(t, http.StatusBadRequest, s.do("POST", "/search/login", "", "token=%", "Content-Type", "application/x-www-form-urlencoded").status)
	assert.Equal(t, http.StatusUnauthorized, s.do("GET", "/search/media?dataset=d1&video=tone", viewerToken, "").status, "a header is for the interface, not for the page")
}

// testPageMedia plays files as a player does.
func testPageMedia(t *testing.T, s *server, m *media) {
	b := newBrowser(t, s)
	b.login(viewerToken)
	file := string(read(t, m.path("tone.wav")))
	a := b.open("/search/media?dataset=d1&video=tone", nil)
	assert.Equal(t, "audio/wav", a.header.Get("Content-Type"))
	assert.Equal(t, file, a.body)
	assert.Equal(t, "bytes", a.header.Get("Accept-Ranges"))
	a = b.open("/search/media?dataset=d1&video=tone", nil, "Range", "bytes=1000-2999")
	assert.Equal(t, http.StatusPartialContent, a.status)
	assert.Equal(t, file[1000:3000], a.body)
	assert.Equal(t, http.StatusRequestedRangeNotSatisfiable, b.open("/search/media?dataset=d1&video=tone", nil, "Range", "bytes=99999999-").status)
	a = b.open("/search/media?dataset=d1&video=clip", nil)
	assert.Equal(t, "video/mp4", a.header.Get("Content-Type"))
	assert.Equal(t, "inline; filename=clip.mp4", a.header.Get("Content-Disposition"), "what it is saved as")

	a = b.open("/search/media?dataset=d1&video=page", nil)
	assert.Equal(t, "application/octet-stream", a.header.Get("Content-Type"), "no page of somebody's becomes one of ours")
	assert.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"))
	assert.Contains(t, a.header.Get("Content-Security-Policy"), "sandbox")

	// A file that is gone, or a link that leads out.
	require.NoError(t, os.Rename(m.path("page.html"), m.path("kept.html")))
	a = b.open("/search/media?dataset=d1&video=page", nil)
	assert.Equal(t, http.StatusNotFound, a.status)
	require.NoError(t, os.Symlink("/etc/passwd", m.path("page.html")))
	a = b.open("/search/media?dataset=d1&video=page", nil)
	assert.Equal(t, http.StatusNotFound, a.status)
	assert.NotContains(t, a.body, "root:")
	require.NoError(t, os.Remove(m.path("page.html")))
	require.NoError(t, os.Rename(m.path("kept.html"), m.path("page.html")))
}

// testPageSounds: for a file that browsers do not play there is its sound.
func testPageSounds(t *testing.T, s *server, _ *media) {
	b := newBrowser(t, s)
	b.login(viewerToken)
	page := b.search(url.Values{"dataset": {"d1"}, "class": {"Dial tone"}, "score": {"0.8"}, "key": {"show"}, "op": {"="}, "value": {"old film"}})
	assert.Regexp(t, `<audio controls preload="none" src="sound\?at=[02]000&amp;dataset=d1&amp;video=old#t=0,1[02]`, page.body)
	assert.Contains(t, page.body, `<p class="hint unplayed" role="status">This file cannot be played in a browser.`)
	assert.Contains(t, page.body, `<a href="media?dataset=d1&amp;video=old" download>`)

	samples := func(video, at string) []int16 {
		a := b.open("/search/sound?dataset=d1&video="+video+"&at="+at, nil)
		assert.Equal(t, "audio/wave", a.header.Get("Content-Type"))
		require.Greater(t, len(a.body), 44)
		content := make([]int16, (len(a.body)-44)/2)
		_, err := binary.Decode([]byte(a.body[44:]), binary.LittleEndian, content)
		require.NoError(t, err)
		return content
	}
	const rate = 24000
	assert.InDelta(t, 12*rate, len(samples("old", "0")), rate/10)
	assert.Len(t, samples("long", "6000"), 30*rate, "no more than that")
	// The dial tone of this file, which is ten times as loud as the noise before it, begins at 14 s.
	loud := func(part []int16) (sum float64) {
		for _, v := range part {
			sum += float64(v) * float64(v)
		}
		return math.Sqrt(sum/float64(len(part))) / math.MaxInt16
	}
	cut := samples("clip", "12000")
	assert.InDelta(t, 20*rate, len(cut), rate/5)
	assert.Less(t, loud(cut[:2*rate-rate/5]), 0.1)
	assert.Greater(t, loud(cut[2*rate+rate/5:4*rate]), 0.15)
}

// testPageCancel: who may cancel has a button for it.
func testPageCancel(t *testing.T, p program) {
	m := newMedia(t)
	m.wav("long.wav", halfAnHour()...) // that is to be scored yet
	s := p.start(t, nil, "-config", m.document(clip{"long", "long.wav", nil})).guardMedia(m)
	b := newBrowser(t, s)
	b.login(editorToken)
	a := b.follow("/search/start", url.Values{"dataset": {"d1"}, "class": {"White noise"}})
	require.Contains(t, a.body, `id="progress"`)
	assert.Contains(t, a.body, `<noscript><meta http-equiv="refresh"`)
	assert.Contains(t, a.body, `<progress aria-labelledby="state"`)
	require.Contains(t, a.body, `action="cancel"`)
	status := a.links("data-status")
	require.Len(t, status, 1)
	run := b.last
	assert.Contains(t, b.open(status[0], nil).body, `"ended":false`)
	b.last = run
	_, query, _ := strings.Cut(run, "?")
	form, err := url.ParseQuery(query)
	require.NoError(t, err)
	b.follow("cancel", form)
	assert.Equal(t, run, b.last)
	s.await("the run to end", func() bool {
		a = b.open(run, nil)
		return !strings.Contains(a.body, `id="progress"`)
	})
	assert.Contains(t, a.body, "The run was cancelled.")
	assert.Equal(t, http.StatusSeeOther, b.open("cancel", form).status, "once more does no harm")
}

// testPageSecure: behind https the cookie is for https alone, and the browser's address counts.
func testPageSecure(t *testing.T, p program, m *media) {
	s := p.start(t, nil, "-memory", "-config", m.path("acme.json"), "-public-url", "https://search.example.com/tools").guardMedia(m)
	form := url.Values{"token": {viewerToken}}
	b := newBrowser(t, s)
	a := b.open("/search/login", form, "Sec-Fetch-Site", "", "Origin", "https://search.example.com")
	assert.Equal(t, http.StatusSeeOther, a.status, a.body)
	assert.Contains(t, a.header.Get("Set-Cookie"), "; Secure")
	assert.Equal(t, http.StatusForbidden, b.open("/search/login", form, "Sec-Fetch-Site", "", "Origin", "http://search.example.com").status)
}
