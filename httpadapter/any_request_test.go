package httpadapter_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// TestAnyRequest sends requests of every kind, fine ones and such as nobody should send,
// to all operations of all services, several at a time. None is answered with 5xx, neither
// an error nor the log repeats credentials or a value, and no answer may be cached or
// sniffed. MORTISE_SOAK makes it 100,000.
func TestAnyRequest(t *testing.T) {
	requests := 4000
	if os.Getenv("MORTISE_SOAK") != "" {
		requests = 100_000
	}
	services := everyService(t, httpadapter.Options{MaxBody: 2000})
	const workers = 4
	var wg sync.WaitGroup
	var fine atomic.Int64
	for worker := range workers {
		wg.Go(func() {
			g := &requestMaker{rand.New(rand.NewPCG(7, uint64(worker)))}
			for range requests / workers {
				s := services[g.IntN(len(services))]
				req := g.request(s)
				if req == nil {
					continue // net/http refuses it
				}
				target := req.Method + " " + req.URL.String()
				w := httptest.NewRecorder()
				s.handler.ServeHTTP(w, req)
				if h := w.Header(); h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("%s: %s %v: %v", s.name, target, req.Header, h)
				}
				if w.Code < 400 {
					fine.Add(1)
					continue
				}
				answer := fmt.Sprint(w.Header(), w.Body)
				if w.Code >= 500 || strings.Contains(answer, canary) || strings.Contains(answer, s.bearer) && len(s.bearer) > 10 {
					t.Errorf("%s: %s %v: %d %s", s.name, target, req.Header, w.Code, answer)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d requests were fine", fine.Load(), requests)
	require.Greater(t, fine.Load(), int64(requests/20), "they hardly get anywhere")
	for _, s := range services {
		require.NotContains(t, s.log(), canary, s.name)
		if len(s.bearer) > 10 {
			require.NotContains(t, s.log(), s.bearer, s.name)
		}
	}
}

// requestMaker makes requests up.
type requestMaker struct{ *rand.Rand }

func pick[T any](g *requestMaker, list []T) T { return list[g.IntN(len(list))] }

// often is true most of the time, so that many requests get far.
func (g *requestMaker) often() bool { return g.IntN(8) != 0 }

var (
	madeSegments = []string{
		"v1", "none", "persons", "old", "calls", "1", "0", "-1", "9007199254740993", "00000000-0000-4000-8000-000000000000", "x", "%00", "%2e%2e",
		"..", ".", "%2f", ";a=b", "%ff", "%C3%A9", "%F0%9F%98%80", "+", strings.Repeat("x", 300), "'%20OR%201=1", "",
	}
	knownSegments = map[string]string{"{vaultID}": "v1", "{table}": "persons", "{client_id}": "old"}
	madeQueries   = []string{
		"", "dataset_id=calls", "dataset_id=%00", "dataset_id=calls&dataset_id=bells", "limit=1&offset=0", "limit=0", "limit=-1", "limit=1e3",
		"limit=99999999999999999999", "offset=9223372036854775807", "cursor=x", "cursor=" + strings.Repeat("A", 500), "status=queued&source=api",
		"from=2026-01-01T00:00:00Z&to=x", "a;b", "%zz", "=", "&&&", "access_token=x",
	}
	madeTypes = []string{
		"text/plain", "application/x-www-form-urlencoded", "application/problem+json", "application/json; charset=latin1", "multipart/form-data; boundary=x", "/", "",
	}
	madeBodies = []string{
		`{"instructions":"` + canary + `","context":{"a":"` + canary + `"}}`, `{"instructions":""}`, `{"name":"` + canary + `"}`,
		`{"name":"x","roles":[{"role_id":"viewer","resource":"dataset","resource_instance":"calls"}]}`, `{"name":"x","roles":[{"role_id":"none"}]}`,
		`{"email":"a@example.com","name":"Ada","roles":[]}`, `{"overlap_seconds":1}`, `{}`, `[]`, `null`, `7`, `"` + canary + `"`, ``,
		parameters(ofName(canary)), parameters(ofEmail(canary), ofName(canary)), `{"records":[{"fields":{"name":"` + canary + `"}}]}`,
		`{"records":[{"fields":{"email":"` + canary + `","card":"4111111111111111"}}]}`, `{"detokenizationParameters":[{"token":"x","redaction":"MASKED"}]}`,
		`{"dataset_id":"calls","audio_class":"Dial tone","metadata_filters":[{"key":"site","op":"=","value":"` + canary + `"}]}`,
		`{"dataset_id":"calls","audio_class":"Silence","limit":1000,"metadata_filters":[{"key":"` + canary + `","op":">","value":"` + canary + `"}]}`, `{"dataset_id":"none","audio_class":"Dial tone"}`,
		"grant_type=client_credentials&client_id=old&client_secret=" + canary, "grant_type=x&%zz",
	}
	madeMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "FOO"}
	inBraces    = regexp.MustCompile(`\{[^}]*\}`)
)

// request returns a request to an operation of a service, or nil if net/http would not take
// it.
func (g *requestMaker) request(s *anyService) *http.Request {
	op := pick(g, s.handler.Routes()).Operation
	target := inBraces.ReplaceAllStringFunc(op.Pattern, func(wildcard string) string {
		if known := knownSegments[wildcard]; known != "" && g.often() {
			return known
		}
		return pick(g, madeSegments)
	})
	switch {
	case !g.often():
		target += "/" + pick(g, madeSegments)
	case !g.often():
		cut := g.IntN(len(target))
		target = target[:cut] + pick(g, madeSegments) + target[cut:]
	}
	switch {
	case g.often() && s.name == "audiosearch":
		target += "?dataset_id=calls"
	case g.IntN(2) == 0:
		target += "?" + pick(g, madeQueries)
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil
	}
	method := op.Method
	if !g.often() {
		method = pick(g, madeMethods)
	}
	body := g.body()
	req := (&http.Request{
		Method: method, URL: u, RequestURI: target, Host: "x", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: g.headers(s),
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(context.Background())
	if !g.often() {
		req.ContentLength = -1
	}
	return req
}

func (g *requestMaker) headers(s *anyService) http.Header {
	h := http.Header{"Authorization": {"Bearer " + s.bearer}, "Content-Type": {"application/json"}}
	if !g.often() {
		h["Authorization"] = pick(g, [][]string{
			nil, {""}, {"Bearer"}, {"Bearer "}, {"Bearer " + s.bearer + "x"}, {"Basic " + s.bearer}, {"Bearer " + s.bearer, "Bearer " + s.bearer},
			{"Bearer viewer"}, {"Bearer none"}, {"Bearer \x00"}, {"bearer  " + s.bearer},
		})
	}
	if !g.often() {
		h["Content-Type"] = []string{pick(g, madeTypes)}
	}
	if !g.often() {
		h["Content-Encoding"] = []string{pick(g, []string{"gzip", "identity", ""})}
	}
	if !g.often() {
		h["Idempotency-Key"] = []string{pick(g, []string{"a", "", " ", "é", strings.Repeat("k", 256), "b"})}
	}
	if !g.often() {
		h["If-Match"] = []string{pick(g, []string{"*", `"a"`, `W/"a", x`, `"`, ""})}
	}
	if !g.often() {
		h["X-Request-Id"] = []string{pick(g, []string{"a", "a b", strings.Repeat("i", 129)})}
	}
	return h
}

// body is one of those above, some of them with bytes changed, cut off or doubled.
func (g *requestMaker) body() string {
	body := pick(g, madeBodies)
	if g.often() || body == "" {
		return body
	}
	at := g.IntN(len(body))
	switch g.IntN(4) {
	case 0:
		return body[:at]
	case 1:
		return body[:at] + string([]byte{byte(g.IntN(256))}) + body[at+1:]
	case 2:
		return body[:at] + pick(g, []string{`"`, `{`, `\ud800`, "\x00", "1e999", "[[[[", "\xff", ","}) + body[at:]
	default:
		return strings.Repeat(body, 1+g.IntN(40))
	}
}
