package gold

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
)

// A recording is a golden file that holds its own script:
//
//	# A comment. A line of two # begins a part: the clock goes to the next full minute.
//	! wait 25h
//	> POST /triggers as editor
//	> Idempotency-Key: nightly
//	> {"instructions":"Describe it."}
//	= first
//	< 202
//	< Content-Type: application/json
//	< {"trigger_event_id":"<first>"}
//
// A line with ! is one of the directives below, and one with > a part of a request: the
// caller after "as" ("full" without), headers, and from the first line on that looks like
// none the body. {{x*3}} is xxx, and {{0x00}} a byte. A line with = names the first
// values of the answer that are not the same in each run. Other ones are numbered. A name
// is the same value everywhere, in later requests, too. Lines with < are the answer, and
// the only ones that -update writes: status, headers and body. Five headers are not shown
// if they are as they should be: Date, Content-Length, X-Request-Id if it is a new UUID,
// Cache-Control: no-store, and X-Content-Type-Options: nosniff. Bodies of JSON are broken
// into lines, and changed in nothing else; a byte that is neither printed nor UTF-8 is
// shown as in requests.
//
// The clock of the services is moved by a second before each request, so times can stand
// as they are.
type recording struct {
	*rig
	address  string // of the server
	masks    *masks
	script   string
	answered map[string]bool // operations with statuses
}

var recordings = []string{"trigger", "authmgmt", "invitations", "vault", "audiosearch", "all"}

func TestRecordings(t *testing.T) {
	var seen []map[string]bool
	for _, name := range recordings {
		answered := make(map[string]bool)
		seen = append(seen, answered)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := "requests/" + name + ".txt"
			for n, s := range storages {
				t.Run(s.name, func(t *testing.T) {
					script := read(t, file)
					rig := newRig(t, s.open(t), read(t, "world.json"), 4)
					r := &recording{rig, rig.server.Listener.Addr().String(), newMasks(script), script, answered}
					compare(t, file, r.play(), n == 0)
					compare(t, "log/"+name+".txt", logLines(t, r.logged.String()), n == 0)
				})
			}
		})
	}
	t.Cleanup(func() { // once all have ended
		if !t.Failed() && !slices.ContainsFunc(seen, func(one map[string]bool) bool { return len(one) == 0 }) {
			checkStatuses(t, seen)
		}
	})
}

// checkStatuses checks that every status which the documents describe was recorded.
func checkStatuses(t *testing.T, seen []map[string]bool) {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "openapi/full.json")), &doc))
	var missing []string
	for _, methods := range doc.Paths {
		for _, op := range methods {
			for status := range op.Responses {
				answer := op.OperationID + " " + status
				if !slices.ContainsFunc(seen, func(one map[string]bool) bool { return one[answer] }) {
					missing = append(missing, answer)
				}
			}
		}
	}
	slices.Sort(missing)
	assert.Empty(t, missing, "answers that the OpenAPI document has, and no recording")
}

// play carries the script out, and returns it with the answers that it got.
func (r *recording) play() string {
	var out strings.Builder
	var request []string
	var names []string
	flush := func() {
		if request != nil {
			out.WriteString(r.exchange(request, names))
		}
		request, names = nil, nil
	}
	for line := range strings.Lines(r.script) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, ">") && !strings.HasPrefix(line, "=") {
			flush()
		}
		switch {
		case strings.HasPrefix(line, "<"):
			continue // it is made anew
		case strings.HasPrefix(line, "## "):
			r.clock.Advance(r.clock.Now().Truncate(time.Minute).Add(time.Minute + 123456*time.Microsecond).Sub(r.clock.Now()))
		case strings.HasPrefix(line, "! "):
			r.direct(strings.Fields(line)[1:])
		case strings.HasPrefix(line, "> "):
			request = append(request, line[2:])
		case strings.HasPrefix(line, "= "):
			names = strings.Fields(line[2:])
		}
		out.WriteString(line + "\n")
	}
	flush()
	return out.String()
}

// direct does what cannot be asked for by a request.
func (r *recording) direct(words []string) {
	t := r.t
	switch words[0] {
	case "work": // all that is due
		r.work()
	case "hold": // the next work, once it has begun
		r.gate.shut.Store(true)
		done := make(chan struct{})
		work := r.work
		go func() {
			defer close(done)
			work()
		}()
		<-r.gate.entered
		r.work = func() { // lets it go
			r.gate.leave <- struct{}{}
			<-done
			r.work = work
			work()
		}
	case "await": // PATH TEXT CALLER: until what is there has the text
		header := http.Header{"Authorization": {credential(words[3])}}
		require.Eventually(t, func() bool {
			_, body := r.send("GET", r.masks.show(words[1]), header, "")
			return strings.Contains(string(body), words[2])
		}, time.Minute, 5*time.Millisecond, "%v", words)
	case "wait":
		d, err := time.ParseDuration(words[1])
		require.NoError(t, err)
		r.clock.Advance(d)
	case "admit":
		r.admit.Store(words[1] == "nobody")
	case "grant":
		r.grant.Store(words[1] == "nothing")
	case "insert-bytes": // that are no text, under a token of this name
		tokens, err := r.vault.Insert(t.Context(), "acme", "operator", "v1", []vault.Item{
			{Place: vault.InColumn("persons", "name"), Value: vault.NewValue("\xff")},
		})
		require.NoError(t, err)
		r.masks.learn(`{"token":"`+tokens[0]+`"}`, words[1:])
	case "seal":
		r.spoil.Store(words[1] == "badly")
	case "delete-organization":
		r.deleteOrganization(t, words[1])
	default:
		t.Fatalf("there is no directive %q", words[0])
	}
}

// deleteOrganization deletes one in all services.
func (s *services) deleteOrganization(t *testing.T, org string) {
	t.Helper()
	for _, step := range []func() (bool, error){
		func() (bool, error) { return s.trigger.DeleteOrganization(t.Context(), org, "operator") },
		func() (bool, error) { return s.auth.DeleteOrganization(t.Context(), org, operator) },
		func() (bool, error) { return s.vault.DeleteOrganization(t.Context(), org, "operator") },
		func() (bool, error) { return s.audio.DeleteOrganization(t.Context(), org, "operator") },
	} {
		for more := true; more; {
			var err error
			more, err = step()
			require.NoError(t, err)
		}
	}
}

var (
	headerLine = regexp.MustCompile(`^([A-Za-z-]+):(?: (.*))?$`)
	repeated   = regexp.MustCompile(`\{\{(.+?)\*(\d+)\}\}`)
	oneByte    = regexp.MustCompile(`\{\{0x([0-9a-f]{2})\}\}`)
)

// expand replaces what is shorter to write.
func expand(text string) string {
	text = repeated.ReplaceAllStringFunc(text, func(s string) string {
		m := repeated.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	})
	return oneByte.ReplaceAllStringFunc(text, func(s string) string {
		n, _ := strconv.ParseUint(oneByte.FindStringSubmatch(s)[1], 16, 8)
		return string([]byte{byte(n)})
	})
}

// exchange sends a request and returns the lines of the answer.
func (r *recording) exchange(lines, names []string) string {
	t := r.t
	r.clock.Advance(time.Second)
	target, caller, found := strings.Cut(lines[0], " as ")
	if !found {
		caller = "full"
	}
	method, address, ok := strings.Cut(target, " ")
	require.True(t, ok, "no request: %q", lines[0])
	header := make(http.Header)
	n := 1
	for ; n < len(lines); n++ {
		m := headerLine.FindStringSubmatch(lines[n])
		if m == nil {
			break
		}
		header[m[1]] = append(header[m[1]], r.masks.show(expand(m[2])))
	}
	body := r.masks.show(expand(strings.Join(lines[n:], "\n")))
	if header["Authorization"] == nil && caller != "nobody" {
		header.Set("Authorization", credential(caller))
	}
	if body != "" && header["Content-Type"] == nil {
		header.Set("Content-Type", "application/json")
	}
	bodyless := body == "" && (method == "GET" || method == "HEAD")
	if header["Content-Length"] == nil && header["Transfer-Encoding"] == nil && !bodyless {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	address = r.masks.show(expand(address))
	require.NotContains(t, address, "<", "nothing has this name yet")
	resp, answer := r.send(method, address, header, body)
	r.note(method, address, resp.StatusCode)
	text := r.masks.lines(resp, answer, header, names)
	require.Empty(t, r.masks.missing, "names of nothing new in the answer to %s", lines[0])
	return text
}

// credential is the Authorization header of a caller of the provisioning document, or of
// one that mount knows.
func credential(caller string) string {
	switch {
	case slices.Contains([]string{"broken", "hurried", "banned", "vouched"}, caller):
		return "Bearer at-" + caller
	case strings.HasSuffix(caller, "key"):
		return "Bearer sk-" + caller + "-0123456789abcdef0123456789abcdef"
	}
	return "Bearer at-" + caller + "-0123456789abcdef0123456789abcdef"
}

// note keeps the status of an operation.
func (r *recording) note(method, address string, status int) {
	u, err := url.ParseRequestURI(address)
	if err != nil || r.patterns == nil {
		return
	}
	for prefix := range r.mounts {
		if rest, ok := strings.CutPrefix(u.Path, prefix+"/"); ok && prefix != "" {
			u.Path, u.RawPath = "/"+rest, ""
		}
	}
	_, pattern := r.patterns.Handler(&http.Request{Method: method, URL: u, Host: "api.example.com"})
	r.answered[r.operations[pattern]+" "+strconv.Itoa(status)] = true
}

// send writes a request as it is, also one that Go's client would not send.
func (r *recording) send(method, address string, header http.Header, body string) (*http.Response, []byte) {
	t := r.t
	conn, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	defer conn.Close()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: api.example.com\r\n", method, address)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if value != "" { // a header that is left out
				fmt.Fprintf(&b, "%s: %s\r\n", name, value)
			}
		}
	}
	b.WriteString("\r\n" + body)
	_, err = conn.Write(b.Bytes())
	require.NoError(t, err)
	if announced, _ := strconv.Atoi(header.Get("Content-Length")); body != "" && len(body) < announced {
		require.NoError(t, conn.(*net.TCPConn).CloseWrite()) // it was cut off
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoError(t, err, "%s %s", method, address)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, answer
}
