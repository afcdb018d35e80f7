package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chromium is a browser that a test uses as a person does.
type chromium struct {
	t   testing.TB
	ctx context.Context
}

// newChromium starts a browser. A fault that a page writes to its console fails the test, as
// does a break of the page's Content-Security-Policy.
func newChromium(t testing.TB) *chromium {
	t.Helper()
	started, leave := chromedp.NewContext(context.Background(),
		chromedp.WithAllocatorOptions(chromedp.ExecPath(tool(t, "chromium")), chromedp.NoSandbox))
	require.NoError(t, chromedp.Do(started))
	messages, read := chromedp.Console(started), make(chan []string, 1)
	go func() {
		var faults []string
		for m, err := range messages {
			if err != nil {
				break
			}
			answered := strings.Contains(m.Text, "the server responded with a status of 4")
			if (m.IsException() || m.Type == chromedp.ConsoleError) && !answered {
				faults = append(faults, m.String())
			}
		}
		read <- faults
	}()
	ctx, late := context.WithTimeout(started, patience)
	t.Cleanup(func() {
		late()
		leave()
		assert.Empty(t, <-read, "the console")
	})
	return &chromium{t, ctx}
}

func (c *chromium) do(actions ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	require.NoError(c.t, chromedp.Do(c.ctx, actions...))
}

// get returns the result of an action.
func get[T any](c *chromium, action chromedp.Action[T]) T {
	c.t.Helper()
	result, err := chromedp.Run(c.ctx, action)
	require.NoError(c.t, err)
	return result
}

// awaitText waits until an element has a text.
func (c *chromium) awaitText(selector chromedp.CSS, want string) {
	c.t.Helper()
	for c.ctx.Err() == nil {
		// An error is of a page that is being left.
		if text, err := chromedp.Run(c.ctx, chromedp.TextContent(selector)); err == nil && text == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("waiting for %q in %s", want, selector)
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
	b.do(chromedp.Navigate(link[1]), chromedp.WaitVisible(chromedp.CSS("#submitted")))
	assert.Equal(t, s.url+"/", get(b, chromedp.Location()), "the code is in the address bar")
	assert.Empty(t, get(b, chromedp.Evaluate[string]("document.cookie")), "a script can read the session")
	b.awaitText("#submitted", "0")
	s.submit(key, `{"instructions":"Describe it."}`)
	b.awaitText("#submitted", "1")

	b.do(chromedp.Click(chromedp.CSS(`[data-copy="command-2"]`)))
	b.awaitText(`[data-copy="command-2"] + [role="status"]`, "Copied.")
	assert.Contains(t, get(b, chromedp.TextContent(chromedp.CSS("#command-2"))), token)

	b.do(chromedp.Click(chromedp.CSS(`a[href^="search?"]`)), chromedp.WaitVisible(chromedp.CSS("#class")),
		chromedp.Click(chromedp.CSS(`form[action$="start"] > button`)), chromedp.WaitVisible(chromedp.CSS(".results")))
	assert.Equal(t, "kitchen-alarm", get(b, chromedp.TextContent(chromedp.CSS(".results h2 bdi"))))

	b.do(chromedp.Click(chromedp.CSS(`form[action$="logout"] button`)), chromedp.WaitVisible(chromedp.CSS(".note")))
	assert.NotContains(t, get(b, chromedp.Text(chromedp.CSS("main"))), "Triggers submitted")
	b.do(chromedp.Navigate(link[1]))
	b.awaitText("h1", "This does not work")
	assert.NotContains(t, get(b, chromedp.Location()), code)
	assertUntold(t, code, s.stderr.String())
}
