package main

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// docsRig is the whole server, its OpenAPI document and the page of that.
type docsRig struct {
	services *services
	handler  http.Handler
	document []byte
	page     string
}

func newDocsRig(t *testing.T) *docsRig {
	t.Helper()
	return newDocsRigFor(t, testSettings())
}

func newDocsRigFor(t *testing.T, settings *settings) *docsRig {
	t.Helper()
	r := new(docsRig)
	settings.docs = true
	var err error
	if r.services, err = wire(settings, storages["memory"](t), testKey(), discard()); err != nil {
		t.Fatal(err)
	}
	if r.handler, err = routes(t.Context(), settings, r.services, discard()); err != nil {
		t.Fatal(err)
	}
	r.document = r.get(t, "/openapi.json").Body.Bytes()
	r.page = r.get(t, "/docs").Body.String()
	return r
}

func (r *docsRig) get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d, %s", path, w.Code, w.Body)
	}
	return w
}

// TestDocsWithASlash: an address with a slash at its end leads to the page.
func TestDocsWithASlash(t *testing.T) {
	r, w := newDocsRig(t), httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs/", nil))
	if to := w.Header().Get("Location"); w.Code != http.StatusFound || to != "../docs" {
		t.Errorf("%d, %q", w.Code, to)
	}
}

// TestDocsHaveEveryOperation: of all services, with what is said of them.
func TestDocsHaveEveryOperation(t *testing.T) {
	r := newDocsRig(t)
	for _, h := range r.services.handlers() {
		for _, route := range h.Routes() {
			at := strings.Index(r.page, `<h3 id="op-`+route.ID+`"`)
			if at < 0 {
				t.Errorf("%s is missing", route.ID)
				continue
			}
			way := `<span class="method m-` + route.Method + `">` + route.Method + `</span> <code>` + route.Pattern + `</code>`
			if !strings.Contains(r.page[at:], way) {
				t.Errorf("%s: no %s", route.ID, way)
			}
		}
	}
	for _, text := range []string{
		"HTTP bearer", "HTTP basic", "Idempotency-Key", "WWW-Authenticate", "idempotency_key_reused", "Authentication: none.",
		`<span class="parent">triggers[].outcome.</span><wbr>summary`, "string (date-time) or null", "no other fields",
		"<summary>One of 527 values</summary>", `<code>"contains"</code>`, "integer (int64)", "also application/json",
		"MORTISE_KEY", "/sandbox</code><p>", "Base addresses of this path:", "at least 1 item", "array of object",
		"default <code>50</code>", "The body is empty.",
	} {
		if !strings.Contains(html.UnescapeString(r.page), text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	for _, class := range audioset.Classes() {
		if !strings.Contains(html.UnescapeString(r.page), `<li><code>"`+string(class)+`"</code></li>`) {
			t.Errorf("the page has no %q", class)
		}
	}
}

// TestDocsBeginSoon: few words come before the first operation, the contents aside, and no
// sentence outside the operations repeats another one.
func TestDocsBeginSoon(t *testing.T) {
	_, main, _ := strings.Cut(newDocsRig(t).page, "<main ")
	// Where an element ends, a sentence does, unless the element is within a line.
	main = regexp.MustCompile(`</?(code|strong|span)\b[^>]*>`).ReplaceAllString("<main "+main, "")
	text := func(markup string) string {
		return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(markup, "\n"))
	}
	before, _, found := strings.Cut(main, "<article ")
	if words := len(strings.Fields(text(before))); !found || words < 200 || words > 330 {
		t.Errorf("%d words before the first operation", words)
	}
	said := make(map[string]bool)
	main, _, _ = strings.Cut(pageArticle.ReplaceAllString(main, ""), "</main>")
	for _, sentence := range regexp.MustCompile(`[.]\s+|\n+`).Split(text(main), -1) {
		if sentence = strings.Trim(sentence, ". "); sentence != "" && said[sentence] {
			t.Errorf("the page says twice: %s", sentence)
		}
		said[sentence] = true
	}
}

// TestDocsKnowTheirKeywords: what the page does not show is no news.
func TestDocsKnowTheirKeywords(t *testing.T) {
	known := strings.Fields(`$ref type title format description properties required items additionalProperties anyOf oneOf enum
		minLength maxLength minItems maxItems minProperties maxProperties minimum maximum pattern const default
		examples`) // those, and what is in anyOf and oneOf, say nothing that is not said in words
	var walk func(schema any)
	walk = func(schema any) {
		object, _ := schema.(map[string]any)
		for key, value := range object {
			if !slices.Contains(known, key) {
				t.Errorf("a schema has the keyword %q, which the page does not show", key)
			}
			switch value := value.(type) {
			case map[string]any:
				if key == "properties" {
					for _, property := range value {
						walk(property)
					}
				} else if key == "items" || key == "additionalProperties" {
					walk(value)
				}
			case []any:
				if key == "anyOf" || key == "oneOf" {
					for _, form := range value {
						for name := range form.(map[string]any) {
							shown := name == "type" && object["type"] == nil
							if !shown && !slices.Contains([]string{"title", "required", "not"}, name) {
								t.Errorf("a form of a schema has the keyword %q, and the page does not show it", name)
							}
						}
					}
				}
			}
		}
	}
	var find func(v any)
	find = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if key == "schema" {
					walk(value)
				} else if key != "example" && key != "examples" {
					find(value)
				}
			}
		case []any:
			for _, value := range v {
				find(value)
			}
		}
	}
	var document map[string]any
	if err := json.Unmarshal(newDocsRig(t).document, &document); err != nil {
		t.Fatal(err)
	}
	find(document)
	for _, schema := range document["components"].(map[string]any)["schemas"].(map[string]any) {
		walk(schema)
	}
}

// TestDocsLinks: every id stands once, and every link leads to one.
func TestDocsLinks(t *testing.T) {
	page := newDocsRig(t).page
	ids := make(map[string]bool)
	for _, id := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[id[1]] {
			t.Errorf("the id %q stands twice", id[1])
		}
		ids[id[1]] = true
	}
	for _, link := range regexp.MustCompile(`(?:href="#|aria-labelledby=")([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !ids[link[1]] {
			t.Errorf("nothing has the id %q", link[1])
		}
	}
}

var (
	pageCommand = regexp.MustCompile(`(?s)<h4>Request</h4>\s*<div class="code"><pre><code>(.*?)</code></pre>`)
	pageAnchor  = regexp.MustCompile(`<h3 id="op-([^"]*)"`)
	pageArticle = regexp.MustCompile(`(?s)<article .*?</article>`)
	pageCode    = regexp.MustCompile(`(?s)<pre><code>(.*?)</code></pre>`)
)

// needShell skips a test of commands on a machine without a shell.
func needShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("sh is missing")
		}
		t.Skip("sh is missing")
	}
}

// TestDocsCommandsWork runs the command of each operation in a shell, with a curl that asks
// the server itself. The objects of the examples do not exist, so some are answered 404 or 409,
// but none is refused for its form.
func TestDocsCommandsWork(t *testing.T) {
	needShell(t)
	r := newDocsRig(t)
	if err := apply(t, r.services, orgDocument("acme", true, "[]", "[]")); err != nil {
		t.Fatal(err)
	}
	_, key, err := r.services.trigger.service.IssueKey(t.Context(), "acme", "", "")
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := r.services.authmgmt.service.IssueToken(t.Context(), "acme", provisioner, authmgmt.NewToken{Subject: "x", FullAccess: true})
	if err != nil {
		t.Fatal(err)
	}
	ids, commands := pageAnchor.FindAllStringSubmatch(r.page, -1), pageCommand.FindAllStringSubmatch(r.page, -1)
	routes := 0
	for _, h := range r.services.handlers() {
		routes += len(h.Routes())
	}
	if len(commands) != routes || len(ids) != routes {
		t.Fatalf("%d commands for %d operations", len(commands), routes)
	}
	for i, command := range commands {
		id := ids[i][1]
		credential := token.Reveal()
		if slices.ContainsFunc(r.services.trigger.handler.Routes(), func(r httpadapter.Route) bool { return r.ID == id }) {
			credential = key.Reveal()
		}
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, commandRequest(t, html.UnescapeString(command[1]), credential))
		switch w.Code {
		case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNotFound, http.StatusConflict:
		default:
			t.Errorf("%s: %d\n%s\n%s", id, w.Code, command[1], w.Body)
		}
	}
}

// given finds the tokens of values and the IDs of runs in an answer.
var given = regexp.MustCompile(`"(?:token|run_id)": ?"?([\w-]+)`)

// TestDocsExamplesFitTheDemo sends every example request of the vault and of the search for
// sounds to the demo, in the order of the page. Tokens and IDs of runs are new in each demo,
// so the demo's own replace the ones of the examples.
func TestDocsExamplesFitTheDemo(t *testing.T) {
	needShell(t)
	settings := testSettings()
	settings.demo = newDemoCredentials()
	r := newDocsRigFor(t, settings)
	if err := startDemo(t.Context(), io.Discard, r.services, new(demoPage), discard()); err != nil {
		t.Fatal(err)
	}
	mounted := slices.Concat(r.services.vault.handler.Routes(), r.services.audio.handler.Routes())
	sent := 0
	var own []string // of an example and of the demo, by turns
	for _, article := range pageArticle.FindAllString(r.page, -1) {
		id := pageAnchor.FindStringSubmatch(article)[1]
		if !slices.ContainsFunc(mounted, func(r httpadapter.Route) bool { return r.ID == id }) {
			continue
		}
		request, responses, _ := strings.Cut(strings.NewReplacer(own...).Replace(html.UnescapeString(article)), "<h4>Responses</h4>")
		code := pageCode.FindAllStringSubmatch(request, -1) // the command, and all bodies
		for i := range max(1, len(code)-1) {
			asked, w := commandRequest(t, code[0][1], settings.demo.token), httptest.NewRecorder()
			if i > 0 { // the command has the first body
				asked.Body, asked.ContentLength = io.NopCloser(strings.NewReader(code[i+1][1])), int64(len(code[i+1][1]))
			}
			r.handler.ServeHTTP(w, asked)
			sent++
			if w.Code != http.StatusOK {
				t.Errorf("%s, request %d: %d %s", id, i+1, w.Code, w.Body)
			}
			if i == 0 && (id == "tokenize" || id == "searchAudioSound") {
				answered := given.FindAllStringSubmatch(w.Body.String(), -1)
				for n, shown := range given.FindAllStringSubmatch(responses, len(answered)) {
					own = append(own, shown[1], answered[n][1])
				}
			}
		}
	}
	if sent != 13 {
		t.Errorf("there were %d requests", sent)
	}
}

// commandRequest runs a command of the page in a shell, with a curl that tells its
// arguments, and returns the request that curl would send.
func commandRequest(t *testing.T, command, credential string) *http.Request {
	t.Helper()
	script := "curl() { printf '%s\\0' \"$@\"; }\n" + command
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Env = []string{"MORTISE_KEY=" + credential, "MORTISE_USER=c1", "MORTISE_PASSWORD=" + docSecret}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return curlRequest(t, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"))
}

// curlRequest makes a request of the arguments of curl.
func curlRequest(t *testing.T, args []string) *http.Request {
	t.Helper()
	if args[0] != "-X" {
		t.Fatal(args)
	}
	body, user := "", ""
	header := make(http.Header)
	for i := 3; i < len(args); i += 2 {
		switch args[i] {
		case "-H":
			name, value, _ := strings.Cut(args[i+1], ": ")
			header.Add(name, value)
		case "-u":
			user = args[i+1]
		case "--data-urlencode": // of words that need no escaping
			body = strings.TrimPrefix(body+"&"+args[i+1], "&")
		case "--data-raw":
			body = args[i+1]
		default:
			t.Fatalf("unexpected option %s", args[i])
		}
	}
	r := httptest.NewRequest(args[1], args[2], strings.NewReader(body))
	r.Header = header
	if name, password, ok := strings.Cut(user, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	return r
}
