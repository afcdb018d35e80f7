package e2e

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chromium is a browser with a person in front of it.
type chromium struct {
	t   testing.TB
	ctx context.Context
}

// newChromium starts a browser. A fault that a page writes to its console is an error of the
// test, as is a break of its Content-Security-Policy.
func newChromium(t testing.TB) *chromium {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(tool(t, "chromium")), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	started, end := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(end)
	ctx, leave := chromedp.NewContext(started)
	t.Cleanup(leave)
	ctx, late := context.WithTimeout(ctx, patience)
	t.Cleanup(late)
	chromedp.ListenTarget(ctx, func(event any) {
		switch event := event.(type) {
		case *log.EventEntryAdded:
			if event.Entry.Level == log.LevelError && !strings.Contains(event.Entry.Text, "the server responded with a status of 4") {
				t.Errorf("console: %s", event.Entry.Text)
			}
		case *runtime.EventExceptionThrown:
			t.Errorf("script: %s", event.ExceptionDetails.Error())
		}
	})
	return &chromium{t, ctx}
}

// do does what a person would do.
func (c *chromium) do(actions ...chromedp.Action) {
	c.t.Helper()
	require.NoError(c.t, chromedp.Run(c.ctx, actions...))
}

// text returns the text of an element, once it is there.
func (c *chromium) text(selector string) (text string) {
	c.t.Helper()
	c.do(chromedp.Text(selector, &text, chromedp.ByQuery))
	return text
}

// awaitText waits until an element has a text.
func (c *chromium) awaitText(selector, want string) {
	c.t.Helper()
	text := ""
	for text != want {
		text = c.text(selector) // ends with the browser's patience
		time.Sleep(50 * time.Millisecond)
	}
}

// TestFirstPageInABrowser opens the link that the demo prints: the browser is signed in, and
// sees numbers that change, copies a command, and searches, without a token.
func TestFirstPageInABrowser(t *testing.T) {
	t.Parallel()
	tool(t, "chromium")
	s := buildServer(t).start(t, nil)
	key, token := s.demoKey(), s.demoToken()
	link := regexp.MustCompile(`(?m)^# (` + regexp.QuoteMeta(s.url) + `/#[\w-]{32})$`).FindStringSubmatch(s.stdout.String())
	require.NotNil(t, link)
	_, code, _ := strings.Cut(link[1], "#")

	b := newChromium(t)
	b.do(chromedp.Navigate(link[1]), chromedp.WaitVisible("#submitted", chromedp.ByQuery))
	address, cookies := "", ""
	b.do(chromedp.Location(&address), chromedp.Evaluate("document.cookie", &cookies))
	assert.Equal(t, s.url+"/", address, "the code is in the address bar")
	assert.Empty(t, cookies, "a script can read the session")
	b.awaitText("#submitted", "0")
	s.submit(key, `{"instructions":"Describe it."}`)
	b.awaitText("#submitted", "1")

	b.do(chromedp.Click(`[data-copy="command-2"]`, chromedp.ByQuery))
	b.awaitText(`[data-copy="command-2"] + [role="status"]`, "Copied.")
	assert.Contains(t, b.text("#command-2"), token)

	b.do(chromedp.Click(`a[href^="search?"]`, chromedp.ByQuery), chromedp.WaitVisible("#class", chromedp.ByQuery),
		chromedp.Click(`form[action$="start"] > button`, chromedp.ByQuery), chromedp.WaitVisible(".results", chromedp.ByQuery))
	assert.Equal(t, "kitchen-alarm", b.text(".results h2 bdi"))

	b.do(chromedp.Click(`form[action$="logout"] button`, chromedp.ByQuery), chromedp.WaitVisible(".note", chromedp.ByQuery))
	assert.NotContains(t, b.text("main"), "Triggers submitted")
	b.do(chromedp.Navigate(link[1]))
	b.awaitText("h1", "This does not work")
	b.do(chromedp.Location(&address))
	at, err := url.Parse(address)
	require.NoError(t, err)
	assert.Empty(t, at.Fragment)
	assertUntold(t, code, s.stderr.String())
}
