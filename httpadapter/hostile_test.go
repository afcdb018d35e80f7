package httpadapter_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

const bodyLimit = 1 << 20

// hostileBodies are bodies that have broken JSON services, most of them as long as the
// limit allows.
func hostileBodies() map[string]string {
	fill := func(piece string) string { return strings.Repeat(piece, bodyLimit/len(piece)-64) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < bodyLimit-256; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	intake := func(context string) string { return `{"instructions":"x","context":` + context + `}` }
	return map[string]string{
		"bad UTF-8":               "{\"instructions\":\"\xc0\xaf\"}",
		"surrogate half encoded":  "{\"instructions\":\"\xed\xa0\x80\"}",
		"lone surrogates":         `{"instructions":"` + fill(`\udead`) + `"}`,
		"duplicate key":           `{"instructions":"a","instructions":"b"}`,
		"duplicate key, escaped":  `{"instructions":"a","\u0069nstructions":"b"}`,
		"case-folded key":         `{"INSTRUCTIONS":"a","Instructions":"b"}`,
		"Kelvin sign key":         `{"instructions":"x","conte` + "\u212a" + `t":{}}`,
		"deep arrays":             strings.Repeat("[", 100_000),
		"deep closed arrays":      intake(`{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`),
		"deep objects":            strings.Repeat(`{"a":`, 100_000),
		"10^4 unknown keys":       `{` + numbered(`"k%d":0`)[:100_000] + `":0}`,
		"unknown keys to limit":   `{` + numbered(`"k%d":0`) + `}`,
		"context keys to limit":   intake(`{` + numbered(`"%d":0`) + `}`),
		"context empty arrays":    intake(`{"a":[` + strings.TrimSuffix(fill(`[],`), ",") + `]}`),
		"context small objects":   intake(`{"a":[` + strings.TrimSuffix(fill(`{"a":1},`), ",") + `]}`),
		"5000-digit number":       intake(`{"n":` + strings.Repeat("9", 5000) + `}`),
		"number to limit":         intake(`{"n":-` + fill("1") + `}`),
		"huge exponent":           intake(`{"n":1e` + strings.Repeat("9", 5000) + `}`),
		"U+0000":                  `{"instructions":"\u0000"}`,
		"raw NUL":                 "{\"instructions\":\"\x00\"}",
		"escapes to limit":        `{"instructions":"` + fill(`\u0000`) + `"}`,
		"quotes to limit":         `{"instructions":"` + fill(`\"`) + `"}`,
		"long unknown key":        `{"` + fill("k") + `":1}`,
		"long escaped key":        `{"` + fill(`\u2028`) + `":1}`,
		"long line separator key": `{"` + fill("\u2028") + `":1}`,
		"spaces to limit":         fill(" "),
		"only quote":              `"`,
		"truncated escape":        `{"instructions":"\u12`,
		"NaN":                     `{"instructions":"x","context":{"a":NaN}}`,
		"wrong types":             `{"instructions":{"a":[1,null,true]},"context":"x"}`,
		"null body":               `null`,
		"array body":              `[{"instructions":"x"}]`,
		"UTF-16":                  "\xff\xfe{\x00}\x00",
		"gzip magic":              "\x1f\x8b\x08\x00",
		"form":                    "instructions=x",
	}
}

func TestHostileBodies(t *testing.T) {
	r := newRig(t, nil)
	for name, body := range hostileBodies() {
		require.LessOrEqual(t, len(body), bodyLimit, name)
		for _, chunked := range []bool{false, true} {
			w := r.post(body, func(req *http.Request) {
				if chunked {
					req.ContentLength = -1
				}
			})
			require.Contains(t, []int{http.StatusAccepted, http.StatusUnprocessableEntity}, w.Code, "%s: %s", name, w.Body)
			if w.Code == http.StatusUnprocessableEntity {
				require.NotEmpty(t, details(t, w.Body.Bytes()), name)
			}
		}
	}
}

// TestLongKeyIsNotRepeated: what a caller sends comes back in a loc, but not all of it.
func TestLongKeyIsNotRepeated(t *testing.T) {
	r := newRig(t, nil)
	w := r.post(`{"instructions":"x","` + strings.Repeat("é", 100_000) + `":1}`)
	require.Less(t, w.Body.Len(), 1000)
	requireDetails(t, w, detail{"body." + strings.Repeat("é", 128) + "...", "extra_forbidden", "Extra inputs are not permitted"})
}

// TestHostileBodiesMemory measures all that a request allocates, its answer included.
func TestHostileBodiesMemory(t *testing.T) {
	r := newRig(t, nil)
	for name, body := range hostileBodies() {
		for _, chunked := range []bool{false, true} {
			measure := func() uint64 {
				req := httptest.NewRequest(http.MethodPost, "/triggers", strings.NewReader(body))
				req.Header.Set("Authorization", "Bearer "+r.key)
				req.Header.Set("Content-Type", "application/json")
				if chunked {
					req.ContentLength = -1
				}
				w := httptest.NewRecorder()
				w.Body = nil // the recorder's own copy does not count
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r.handler.ServeHTTP(w, req)
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			// Other goroutines of the test binary allocate too, and the race detector
			// empties pools at random: the least is ours.
			spent := measure()
			for range 9 {
				if spent <= 8*bodyLimit {
					break
				}
				spent = min(spent, measure())
			}
			t.Logf("%.2f times the limit: %s (chunked: %v)", float64(spent)/bodyLimit, name, chunked)
			require.LessOrEqual(t, spent, uint64(8*bodyLimit), "%s (chunked: %v): %d bytes", name, chunked, spent)
		}
	}
}

// endless never stops sending.
type endless struct{ sent atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.sent.Add(int64(len(p)))
	return len(p), nil
}

func TestEndlessChunkedBody(t *testing.T) {
	r := newRig(t, nil)
	server := httptest.NewServer(r.handler)
	defer server.Close()
	body := new(endless)
	req, err := http.NewRequest(http.MethodPost, server.URL+"/triggers", io.LimitReader(body, 1<<30))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+r.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil { // the client may also see its connection cut while it is still sending
		defer resp.Body.Close()
		require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
	}
	require.Less(t, body.sent.Load(), int64(64<<20))
}

// raw sends bytes over a connection and returns the status line of the answer, "" if
// there is none.
func raw(t *testing.T, address, request string, closeWrite bool) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	if closeWrite {
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestBodyThatDoesNotArrive(t *testing.T) {
	r := newRig(t, nil)
	patient := httptest.NewServer(r.handler)
	defer patient.Close()
	address := strings.TrimPrefix(patient.URL, "http://")
	handler, err := httpadapter.NewTrigger(r.service, httpadapter.Bearer(httpadapter.TriggerKeys(r.service)),
		&httpadapter.TriggerOptions{Options: httpadapter.Options{BodyTimeout: 50 * time.Millisecond}})
	require.NoError(t, err)
	hasty := httptest.NewServer(handler)
	defer hasty.Close()
	head := "POST /triggers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + r.key + "\r\nContent-Type: application/json\r\n"
	require.Equal(t, "HTTP/1.1 408 Request Timeout", raw(t, strings.TrimPrefix(hasty.URL, "http://"), head+"Content-Length: 100\r\n\r\n{", false))
	require.Equal(t, "HTTP/1.1 408 Request Timeout", raw(t, strings.TrimPrefix(hasty.URL, "http://"), head+"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", false))
	require.Equal(t, "HTTP/1.1 422 Unprocessable Entity", raw(t, address, head+"Content-Length: 100\r\n\r\n{", true))
	require.Equal(t, "HTTP/1.1 422 Unprocessable Entity", raw(t, address, head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n", true))
	require.Equal(t, "HTTP/1.1 413 Request Entity Too Large", raw(t, address, head+"Content-Length: 1048577\r\n\r\n", false))
	require.Equal(t, "HTTP/1.1 400 Bad Request", raw(t, address, head+"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", false), "net/http's own")
}

// TestRefusedBeforeTheBodyArrives: who is refused without their body being looked at is
// told at once, and not only once it is there.
func TestRefusedBeforeTheBodyArrives(t *testing.T) {
	r := newRig(t, nil)
	server := httptest.NewServer(r.handler)
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for _, length := range []string{"Content-Length: 50", "Content-Length: 200000", "Content-Length: 900000", "Transfer-Encoding: chunked"} {
		for head, want := range map[string]string{
			"POST /triggers HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: Bearer no\r\n":      "HTTP/1.1 401 Unauthorized",
			"POST /triggers HTTP/1.1\r\nContent-Type: text/plain\r\nAuthorization: Bearer " + r.key + "\r\n": "HTTP/1.1 415 Unsupported Media Type",
			"DELETE /triggers HTTP/1.1\r\nAuthorization: Bearer " + r.key + "\r\n":                           "HTTP/1.1 405 Method Not Allowed",
			"GET /triggers HTTP/1.1\r\nAuthorization: Bearer " + r.key + "\r\n":                              "HTTP/1.1 200 OK",
			"POST /nothing HTTP/1.1\r\n": "HTTP/1.1 404 Not Found",
		} {
			require.Equal(t, want, raw(t, address, head+"Host: x\r\n"+length+"\r\n\r\n", false), "%s %s", head, length)
		}
	}
}

// TestRefusedLargeBodyGetsItsAnswer: a client that sends all before it reads is not cut
// off while it sends.
func TestRefusedLargeBodyGetsItsAnswer(t *testing.T) {
	r := newRig(t, nil)
	server := httptest.NewServer(r.handler)
	defer server.Close()
	body := strings.Repeat("x", bodyLimit+1)
	for range 20 {
		got := raw(t, strings.TrimPrefix(server.URL, "http://"), "POST /triggers HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+r.key+
			"\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n"+body, false)
		require.Equal(t, "HTTP/1.1 413 Request Entity Too Large", got)
	}
}

// TestDeadlineEndsWithTheBody: the limit on a body's arrival must not cut off the handler
// that works on it.
func TestDeadlineEndsWithTheBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	h, err := httpadapter.NewTrigger(r.service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	}), &httpadapter.TriggerOptions{Options: httpadapter.Options{BodyTimeout: 300 * time.Millisecond}})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h.ServeHTTP(w, req)
		select { // long after the deadline the request's context must still live
		case <-req.Context().Done():
			t.Error("the request's context ended with the body's deadline")
		case <-time.After(600 * time.Millisecond):
		}
	}))
	defer server.Close()
	for range 2 { // the second request over the same connection
		resp, err := http.Post(server.URL+"/triggers", "application/json", bytes.NewReader([]byte(`{"instructions":"x"}`)))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusAccepted, resp.StatusCode)
	}
}
