package reference_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/httpadapter/reference"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// triggers mounts a trigger service with all options, and returns an API key with it.
func triggers(t *testing.T) (*httpadapter.Handler, string) {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil), Keys: db.Trigger().Keys}, nil)
	require.NoError(t, err)
	_, key, err := service.IssueKey(t.Context(), "acme", "", "")
	require.NoError(t, err)
	h, err := httpadapter.NewTrigger(service, httpadapter.Bearer(httpadapter.TriggerKeys(service)), &httpadapter.TriggerOptions{
		History: true, CollectionField: true,
	})
	require.NoError(t, err)
	return h, key.Reveal()
}

func page(t *testing.T, document []byte) string {
	t.Helper()
	h, err := reference.New(document)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs", nil))
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.String()
}

func everything(t *testing.T) []byte {
	t.Helper()
	document, err := os.ReadFile("testdata/everything.json")
	require.NoError(t, err)
	return document
}

func TestPageHasEveryOperation(t *testing.T) {
	h, _ := triggers(t)
	document, err := httpadapter.OpenAPI([]string{"https://api.example.com", "https://sandbox.example.com"}, h)
	require.NoError(t, err)
	p := page(t, document)
	last := 0
	for _, r := range h.Routes() {
		at := strings.Index(p, `id="op-`+r.ID+`"`)
		require.Greater(t, at, last, "%s is missing or not in the order of the routes", r.ID)
		last = at
		require.Contains(t, p[at:], `<span class="method m-`+r.Method+`">`+r.Method+`</span> <code>`+r.Pattern+`</code>`)
	}
	for _, text := range []string{
		"https://api.example.com", "https://sandbox.example.com", "HTTP bearer", "Idempotency-Key", "doc_collection_id",
		"org_not_configured", "no_eligible_doc_collection", "idempotency_key_reused", "runtime_store_unavailable", "WWW-Authenticate",
		`<span class="parent">detail[].</span><wbr>loc`, `<span class="parent">triggers[].outcome.</span><wbr>summary`,
		"string (date-time) or null", "Other fields are refused.", "MORTISE_KEY",
	} {
		require.Contains(t, p, text)
	}
}

func TestPageOfLaterServices(t *testing.T) {
	p := page(t, everything(t))
	for _, text := range []string{
		"https://eu.example.com/it&#39;s/", `<summary>One of 527 values</summary>`, "<li><code>&#34;Class 527&#34;</code></li>",
		"one of <code>&#34;=&#34;</code>", "Form 1 of 2 of the body: by group", `<span class="parent">columns.</span><wbr>*`,
		"array of object or null", "array of array of integer", "each: at least 0", "The fields of children[] are those of Node, as above.",
		"also text/plain", "default <code>50</code>", `<span class="flag">deprecated</span>`, "Authentication: none.", "HTTP basic", "Header X-Key",
		"always <code>&#34;client_credentials&#34;</code>", "The body is empty.", "Example: One token",
		"at least 1 item; at most 1000 items", "integer (int32)",
	} {
		require.Contains(t, p, text)
	}
	require.NotContains(t, p, "Unused")
}

// The addresses of a path count before those of the document.
func TestPageOfPathsWithTheirOwnServers(t *testing.T) {
	document := `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"servers":[{"url":"https://api.example.com"}],"paths":{
		"/a":{"get":{"operationId":"a","responses":{}}},
		"/b":{"servers":[{"url":"{vault_base_url}","description":"Production","variables":{"vault_base_url":{"default":"https://vault.example.com"}}},
			{"url":"{b}","description":"Sandbox","variables":{"b":{"default":"https://sandbox.example.com"}}}],"get":{"operationId":"b","responses":{}}}}}`
	p := page(t, []byte(document))
	first, second, ok := strings.Cut(p, `id="op-b"`)
	require.True(t, ok)
	require.Contains(t, first, "https://api.example.com/a")
	require.NotContains(t, first, "vault.example.com")
	require.Contains(t, second, "https://vault.example.com/b")
	require.Contains(t, second, "Base addresses of this path:")
	require.Contains(t, second, "<code>https://sandbox.example.com</code><p>Sandbox</p>")
	require.NotContains(t, second, "api.example.com")
	const needsURL = "read the address of the server"
	require.NotContains(t, p, needsURL)
	p = page(t, []byte(strings.Replace(document, "https://vault.example.com", "/vault", 1)))
	require.Contains(t, p, needsURL)
}

func TestPageEscapes(t *testing.T) {
	hostile := `<img src=x onerror=alert(1)>"'` + "`<b>`</script><!--"
	quoted, marked := strings.ReplaceAll(hostile, `"`, `\"`), "H0"
	document := `{"openapi":"3.1.0","info":{"title":"H0","version":"H0","summary":"H0","description":"H0\n\n- H0"},
		"servers":[{"url":"javascript:H0","description":"H0"}],
		"tags":[{"name":"H0","description":"H0"}],
		"components":{"securitySchemes":{"H0":{"type":"apiKey","in":"header","name":"H0","description":"H0"}}},
		"paths":{"/H0/{H0}":{"post":{"operationId":"H0","tags":["H0"],"summary":"H0","description":"H0","security":[{"H0":[]}],
			"parameters":[{"name":"H0","in":"path","required":true,"description":"H0","schema":{"type":"H0","format":"H0","pattern":"H0","enum":["H0"]},"example":"H0"}],
			"requestBody":{"description":"H0","content":{"H0":{"schema":{"type":"object","properties":{"H0":{"type":"string","default":"H0"}}},"examples":{"H0":{"value":{"H0":"H0"}}}}}},
			"responses":{"H0":{"description":"H0","headers":{"H0":{"schema":{"const":"H0"}}}}}}}}}`
	p := page(t, []byte(strings.ReplaceAll(document, marked, quoted)))
	require.NotContains(t, p, "<img")
	require.NotContains(t, p, "<!--")
	require.NotContains(t, p, `href="javascript`)
	require.Equal(t, 1, strings.Count(p, "</script>"), "only our own script ends")
	require.Equal(t, 1, strings.Count(p, "</style>"))
	for _, attribute := range regexp.MustCompile(`\s(id|href|class|aria-labelledby)="([^"]*)"`).FindAllStringSubmatch(p, -1) {
		require.NotContains(t, attribute[2], "<")
		require.NotRegexp(t, `[\s'`+"`]onerror", attribute[2])
	}
	require.Contains(t, html.UnescapeString(p), hostile)
}

func TestPageAnchors(t *testing.T) {
	h, _ := triggers(t)
	own, err := httpadapter.OpenAPI(nil, h)
	require.NoError(t, err)
	same := `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"tags":[{"name":"a b"},{"name":"a-b"}],"paths":{"/a":{
		"get":{"operationId":"a b","tags":["a b"],"responses":{}},"put":{"operationId":"a-b","tags":["a-b"],"responses":{}},"post":{"responses":{}}}}}`
	for name, document := range map[string][]byte{"triggers": own, "everything": everything(t), "same names": []byte(same)} {
		p := page(t, document)
		ids := make(map[string]bool)
		for _, id := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(p, -1) {
			require.False(t, ids[id[1]], "%s: the id %q stands twice", name, id[1])
			ids[id[1]] = true
		}
		for _, link := range regexp.MustCompile(`(?:href="#|aria-labelledby=")([^"]*)"`).FindAllStringSubmatch(p, -1) {
			require.True(t, ids[link[1]], "%s: nothing has the id %q", name, link[1])
		}
	}
}

func TestPageHeaders(t *testing.T) {
	h, err := reference.New(everything(t))
	require.NoError(t, err)
	serve := func(method string, edit func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/docs", nil)
		edit(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	plain := func(*http.Request) {}
	get := serve(http.MethodGet, plain)
	require.Equal(t, "text/html; charset=utf-8", get.Header().Get("Content-Type"))
	require.Equal(t, "nosniff", get.Header().Get("X-Content-Type-Options"))
	require.Equal(t, "no-cache", get.Header().Get("Cache-Control"))
	csp := get.Header().Get("Content-Security-Policy")
	require.Contains(t, csp, "default-src 'none'; style-src 'sha256-")
	require.NotContains(t, csp, "unsafe")

	head := serve(http.MethodHead, plain)
	require.Equal(t, http.StatusOK, head.Code)
	require.Zero(t, head.Body.Len())
	again := serve(http.MethodGet, func(r *http.Request) { r.Header.Set("If-None-Match", get.Header().Get("Etag")) })
	require.Equal(t, http.StatusNotModified, again.Code)
	post := serve(http.MethodPost, plain)
	require.Equal(t, http.StatusMethodNotAllowed, post.Code)
	require.Equal(t, "GET, HEAD", post.Header().Get("Allow"))
}

func TestPageLoadsNothing(t *testing.T) {
	p := page(t, everything(t))
	require.NotRegexp(t, `(?i)<(link|img|iframe|object|embed|form|base)\b`, p)
	require.NotRegexp(t, `(?i)\s(src|style|on[a-z]+)=`, p)
	require.NotRegexp(t, `(?i)(@import|url\()`, p)
}

func TestNewRefusesBrokenDocuments(t *testing.T) {
	const start = `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"get":`
	for document, want := range map[string]string{
		``:                   "not JSON",
		`{"openapi":"3.1.0"`: "not JSON",
		`{}`:                 `not OpenAPI 3.1: its member openapi is ""`,
		`[]`:                 "not OpenAPI 3.1",
		`{"openapi":"3.0.3","info":{"title":"T"},"paths":{}}`: `openapi is "3.0.3"`,
		`{"openapi":"3.1.0","paths":{}}`:                      "no title",
		`{"openapi":"3.1.0","info":{"title":"T"}}`:            "no paths",
		start + `{}}}}`:                                                             "GET /a has no responses",
		start + `{"responses":{"200":{}}}}}}`:                                       "GET /a, response 200 has no description",
		start + `{"responses":{"200":{"$ref":"#/no/where"}}}}}}`:                    `"#/no/where" leads nowhere`,
		start + `{"responses":{"200":{"$ref":"other.json#/a"}}}}}}`:                 "not one within the document",
		start + `{"security":[{"x":[]}],"responses":{}}}}}`:                         `the security scheme "x"`,
		start + `{"parameters":[{"in":"path"}],"responses":{}}}}}`:                  "parameter without name",
		start + `{"responses":{"200":{"$ref":"#/paths/~1a/get/responses/200"}}}}}}`: "leads back to itself",
		start + `{"parameters":[{"name":"p","in":"query","schema":{"$ref":"#/x"}}],"responses":{}}}},"x":{"allOf":[{"$ref":"#/x"}]}}`:                "contains itself",
		start + `{"parameters":[{"name":"p","in":"query","schema":{"$ref":"#/x"}}],"responses":{}}}},"x":{"anyOf":[{"$ref":"#/x"},{"$ref":"#/x"}]}}`: "contains itself",
		start + `{"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/s0"}}}}}}}},` + unfolding() + `}`:          "too many fields",
	} {
		_, err := reference.New([]byte(document))
		require.ErrorContains(t, err, want, document)
		require.True(t, strings.HasPrefix(err.Error(), "reference: "))
	}
}

// unfolding is twenty schemas, each with two fields of the next one's kind.
func unfolding() string {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `"s%d":{"properties":{"a":{"$ref":"#/s%d"},"b":{"$ref":"#/s%d"}}},`, i, i+1, i+1)
	}
	return b.String() + `"s20":{"type":"string"}`
}
