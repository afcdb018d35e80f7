package apipage_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/examples/server/apipage"
)

func serve(t *testing.T, document string, edit func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	h, err := apipage.New([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	r, w := httptest.NewRequest(http.MethodGet, "/docs", nil), httptest.NewRecorder()
	edit(r)
	h.ServeHTTP(w, r)
	return w
}

func plain(*http.Request) {}

// everything has what no document of the server has, or has in many words only.
const everything = `{"openapi":"3.1.0","info":{"title":"T","version":"1","description":"## Of & all\n\nText."},
	"servers":[{"url":"https://api.example.com/it's/"}],
	"tags":[{"name":"A","description":"Of ` + "`A`, and ` alone\\n\\n- one\\n- two" + `"}],
	"components":{
		"securitySchemes":{"key":{"type":"http","scheme":"bearer"}},
		"parameters":{"P":{"name":"vault/id","in":"path","required":true,"schema":{"type":"string"},"example":"v 1/a?b"}},
		"schemas":{
			"Node":{"type":"object","properties":{"children":{"type":"array","items":{"type":"string"}}}},
			"Matrix":{"type":"array","items":{"type":"array","items":{"type":"integer","minimum":0}}}}},
	"paths":{
		"/a/{vault/id}":{"post":{"operationId":"a","tags":["A"],"summary":"A","security":[{"key":[]}],
			"parameters":[{"$ref":"#/components/parameters/P"},
				{"name":"dry run","in":"query","required":true,"schema":{"type":"boolean"},"example":true},
				{"name":"other","in":"query","schema":{"type":"string"}}],
			"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{
				"short":{"type":"string","maxLength":1},
				"open":{"type":"object","additionalProperties":true},
				"by key":{"type":"object","additionalProperties":{"type":["array","null"],"items":{"type":["string","null"]}}},
				"either":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}},
				"matrix":{"$ref":"#/components/schemas/Matrix","description":"Beside a reference."}}},
				"example":{"value":"it's ` + "`$HOME`" + ` \"q\" \\n <","list":[],"of":{"a":[1,"x"]}}}}},
			"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Node"}}}}}}},
		"/b":{"servers":[{"url":"{base}","description":"Production","variables":{"base":{"default":"https://vault.example.com"}}},
			{"url":"https://sandbox.example.com","description":"Sandbox"}],
			"get":{"operationId":"b","tags":["A"],"summary":"B","responses":{}}}}}`

func TestPage(t *testing.T) {
	page := html.UnescapeString(serve(t, everything, plain).Body.String())
	first, second, _ := strings.Cut(page, `<h3 id="op-b"`)
	for _, text := range []string{
		"<h2>Of & all</h2><p>Text.</p>",
		"Of <code>A</code>, and ` alone</p><ul><li>one</li><li>two</li></ul>", "any keys, any values", `<span class="parent">by key.</span><wbr>*`,
		"array of (string or null) or null", "array of (string or integer)", "array of array of integer", "each: at least 0", "<p>Beside a reference.</p>",
		"Body (optional)", "at most 1 character</p>",
	} {
		if !strings.Contains(first, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	command := "curl -X POST 'https://api.example.com/it'\\''s/a/v%201%2Fa%3Fb?dry+run=true' \\\n" +
		"  -H \"Authorization: Bearer $MORTISE_KEY\" \\\n  -H 'Content-Type: application/json' \\\n" +
		"  --data-raw '{\n  \"value\": \"it'\\''s `$HOME` \\\"q\\\" \\\\n <\",\n  \"list\": [],\n  \"of\": { \"a\": [1, \"x\"] }\n}'</code>"
	if !strings.Contains(first, command) {
		t.Errorf("no command\n%s\nin\n%s", command, first)
	}
	for _, text := range []string{"'https://vault.example.com/b'", "Base addresses of this path:", "sandbox.example.com</code><p>Sandbox</p>", "Authentication: none."} {
		if !strings.Contains(second, text) {
			t.Errorf("the second operation does not say %q", text)
		}
	}
}

// TestPageEscapes: nothing in a document becomes markup.
func TestPageEscapes(t *testing.T) {
	hostile := `<img src=x onerror=alert(1)>"'` + "`<b>`</script></style><!--"
	document := strings.ReplaceAll(`{"openapi":"3.1.0","info":{"title":"H0","version":"H0","description":"H0\n\n- H0"},
		"servers":[{"url":"javascript:H0","description":"H0"}],
		"tags":[{"name":"H0","description":"H0"}],
		"components":{"securitySchemes":{"H0":{"type":"http","scheme":"bearer","description":"H0"}}},
		"paths":{"/H0/{H0}":{"post":{"operationId":"H0","tags":["H0"],"summary":"H0","description":"H0","security":[{"H0":[]}],
			"parameters":[{"name":"H0","in":"path","required":true,"description":"H0","schema":{"type":"H0","format":"H0","pattern":"H0","enum":["H0"]},"example":"H0"}],
			"requestBody":{"description":"H0","content":{"H0":{"schema":{"type":"object","properties":{"H0":{"type":"string","default":"H0"}}},"examples":{"H0":{"value":{"H0":"H0"}}}}}},
			"responses":{"H0":{"description":"H0","headers":{"H0":{"schema":{"const":"H0"}}}}}}}}}`, "H0", strings.ReplaceAll(hostile, `"`, `\"`))
	page := serve(t, document, plain).Body.String()
	for _, bad := range []string{"<img", "<!--", `href="javascript`, "<b>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if strings.Count(page, "</script>") != 1 || strings.Count(page, "</style>") != 1 {
		t.Error("a script or style ends that is not the page's own")
	}
	for _, attribute := range regexp.MustCompile(`\s(id|href|class|aria-labelledby)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if strings.ContainsAny(attribute[2], "<'`") {
			t.Errorf("%s", attribute[0])
		}
	}
	if !strings.Contains(html.UnescapeString(page), hostile) {
		t.Error("the text is not shown as it is")
	}
}

// TestPageLoadsNothing: neither does the page ask for anything, nor would a browser get it.
func TestPageLoadsNothing(t *testing.T) {
	w := serve(t, everything, plain)
	for _, bad := range []string{`(?i)<(link|img|iframe|object|embed|form|base)\b`, `(?i)\s(src|style|on[a-z]+)=`, `(?i)(@import|url\()`} {
		if found := regexp.MustCompile(bad).FindString(w.Body.String()); found != "" {
			t.Errorf("the page has %s", found)
		}
	}
	h := w.Header()
	csp := h.Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'; style-src 'sha256-") || strings.Contains(csp, "unsafe") {
		t.Error(csp)
	}
	if h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-cache" {
		t.Error(h)
	}
	again := serve(t, everything, func(r *http.Request) { r.Header.Set("If-None-Match", h.Get("Etag")) })
	if again.Code != http.StatusNotModified {
		t.Error(again.Code)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, document := range []string{``, `{"openapi":"3.1.0"`, `{"a":}`, `[1,`, `{"a"`} {
		if _, err := apipage.New([]byte(document)); err == nil || !strings.HasPrefix(err.Error(), "read the OpenAPI document: ") {
			t.Errorf("%s: %v", document, err)
		}
	}
}
