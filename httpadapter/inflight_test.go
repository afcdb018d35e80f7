package httpadapter_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// slowReader is a ResponseWriter whose client reads nothing until it is let go on.
type slowReader struct {
	httptest.ResponseRecorder
	waits chan int      // gets the bytes that wait for the client, once
	goOn  chan struct{} // closed: the client reads
	once  sync.Once
}

func (w *slowReader) Write(p []byte) (int, error) {
	if w.Code == http.StatusOK {
		w.once.Do(func() {
			w.waits <- len(p)
			<-w.goOn
		})
	}
	return w.ResponseRecorder.Write(p)
}

// crowd are requests of a handler that are under way at the same time.
type crowd struct {
	t       *testing.T
	handler http.Handler
	goOn    chan struct{}
	all     sync.WaitGroup
	readers []*slowReader
	ended   sync.Once
}

func newCrowd(t *testing.T, handler http.Handler) *crowd {
	c := &crowd{t: t, handler: handler, goOn: make(chan struct{})}
	t.Cleanup(c.release) // the bytes count for the tests that follow, too
	return c
}

// read begins a request, and returns the bytes that wait for its client, or the answer.
func (c *crowd) read(r *http.Request) (waiting int, answer *slowReader) {
	w := &slowReader{ResponseRecorder: *httptest.NewRecorder(), waits: make(chan int), goOn: c.goOn}
	done := make(chan struct{})
	c.all.Go(func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler { // by which a stream is cut off
				panic(p)
			}
		}()
		c.handler.ServeHTTP(w, r)
	})
	select {
	case waiting = <-w.waits:
		c.readers = append(c.readers, w)
		return waiting, nil
	case <-done:
		return 0, w
	}
}

// release lets all clients read, and waits for the ends.
func (c *crowd) release() {
	c.ended.Do(func() { close(c.goOn) })
	c.all.Wait()
}

func requireNoRoom(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, http.StatusTooManyRequests, w.Code, w.Body.String())
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Equal(t, "close", w.Header().Get("Connection"))
}

// TestSlowReadersHoldLittle: the answers that wait for the clients of an organization come to
// its bound, and a further request gets 429. Another organization gets its list meanwhile, and
// the first one does after its clients have read.
func TestSlowReadersHoldLittle(t *testing.T) {
	r := newRig(t, nil)
	for i := range 6 {
		r.put(i, func(e *trigger.Event) { e.Instructions = strings.Repeat("x", 1<<20-1000) })
	}
	r.put(100, func(e *trigger.Event) { e.Organization, e.Instructions = "globex", strings.Repeat("x", 1<<20-1000) })
	r.organize("globex", true, true)
	_, key, err := r.service.IssueKey(t.Context(), "globex", "", "")
	require.NoError(t, err)

	for _, path := range []string{"/triggers?limit=3", "/triggers/" + r.put(7, func(e *trigger.Event) { e.Instructions = strings.Repeat("x", 1<<20) }).ID.String()} {
		c := newCrowd(t, r.handler)
		request := func(key string) *http.Request {
			request := httptest.NewRequest("GET", path, nil)
			request.Header.Set("Authorization", "Bearer "+key)
			return request
		}
		held := 0
		var refused *slowReader
		for refused == nil {
			var n int
			n, refused = c.read(request(r.key))
			held += n
			require.LessOrEqual(t, held, 16<<20, "bytes that wait for readers of %s", path)
		}
		requireNoRoom(t, &refused.ResponseRecorder)
		require.GreaterOrEqual(t, held, 8<<20, "bytes that wait for readers of %s", path)
		n, _ := c.read(request(key.Reveal()))
		if strings.Contains(path, "?") {
			require.Greater(t, n, 1<<20-1000, "another organization reads its list")
		}
		require.Equal(t, http.StatusOK, r.get("/triggers?status=failed").Code, "an empty list holds next to nothing")
		c.release()
		for _, w := range c.readers {
			require.True(t, json.Valid(w.Body.Bytes()), path)
		}
		require.Equal(t, http.StatusOK, r.get(path).Code)
	}
}

// TestSlowReadersOfChangesHoldLittle: an insertion is refused before it stores anything, once
// the answers to others wait for their clients.
func TestSlowReadersOfChangesHoldLittle(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	var columns []vault.Column
	var fields []string
	for i := range 200 {
		columns = append(columns, vault.Column{Name: fmt.Sprintf("%x", i), Tokenization: vault.Random})
		fields = append(fields, fmt.Sprintf(`"%x":"1"`, i))
	}
	_, err := r.service.CreateVault(t.Context(), "acme", "operator", "wide", vault.Schema{Tables: []vault.Table{{Name: "t", Columns: columns}}})
	require.NoError(t, err)
	record := `{"fields":{` + strings.Join(fields, ",") + `}}`
	body := `{"tokenization":true,"records":[` + strings.Repeat(record+",", 4) + record + `]}`
	c := newCrowd(t, r.handler)
	held, longest, answered := 0, 0, 0
	var refused *slowReader
	for refused == nil {
		request := httptest.NewRequest("POST", "/v1/vaults/wide/t", strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer full")
		request.Header.Set("Content-Type", "application/json")
		var n int
		n, refused = c.read(request)
		held, longest = held+n, max(longest, n)
		if refused == nil {
			answered++
		}
		require.LessOrEqual(t, held, 16<<20+longest)
	}
	requireNoRoom(t, &refused.ResponseRecorder)
	require.Greater(t, held, 8<<20)
	require.Greater(t, longest, 16<<10)
	c.release()
	usage, err := r.service.KeyUsage(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1000*answered, usage.Rows)
}

// TestSlowReadersOfResultsHoldLittle: with the pages of the store that wait with an answer.
func TestSlowReadersOfResultsHoldLittle(t *testing.T) {
	r := newSoundRig(t, nil, nil)
	var texts []string
	for i := range 900 {
		texts = append(texts, fmt.Sprintf(`"k%03d":"%s"`, i, strings.Repeat("x", 50)))
	}
	for i := range 40 {
		r.video(fmt.Sprint("large", i), "large.mp4", "{"+strings.Join(texts, ",")+"}", 1, 1, 1)
	}
	run := r.start(aSearch(`"limit":300`))
	r.work()
	c := newCrowd(t, r.handler)
	readers := 0
	var refused *slowReader
	for ; refused == nil; readers++ {
		request := httptest.NewRequest("GET", jobResult+run+of("calls"), nil)
		request.Header.Set("Authorization", "Bearer full")
		_, refused = c.read(request)
	}
	require.LessOrEqual(t, readers, 32, "of 512 KiB each")
	require.Greater(t, readers, 8)
	c.release()
}

// TestLaterStepsHoldLittle: a crowd of readers whose lists begin with small items gets no more
// than the organization may hold when the large ones come.
func TestLaterStepsHoldLittle(t *testing.T) {
	r := newRig(t, nil)
	r.put(0, func(e *trigger.Event) { e.Instructions = strings.Repeat("\u2028", 300_000) }) // 1.8 MB of JSON
	for i := range 50 {
		r.put(100+i, nil)
	}
	const readers = 60
	first, second := make(chan int), make(chan int)
	goOn, last := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			w := &stepReader{ResponseRecorder: *httptest.NewRecorder(), waits: []chan<- int{first, second}, goOn: []<-chan struct{}{goOn, last}}
			request := httptest.NewRequest("GET", "/triggers?limit=51", nil)
			request.Header.Set("Authorization", "Bearer "+r.key)
			r.handler.ServeHTTP(w, request)
			for _, wait := range w.waits { // of an answer with fewer steps
				wait <- 0
			}
		})
	}
	for range readers {
		<-first
	}
	close(goOn)
	held, ended := 0, 0
	for range readers {
		n := <-second
		if held += n; n < 1000 {
			ended++
		}
	}
	require.LessOrEqual(t, held, 16<<20)
	require.Greater(t, held, 1<<20, "some of them get the item")
	require.Greater(t, ended, readers/2, "the others end, with a cursor")
	close(last)
	all.Wait()
}

// stepReader tells how much waits for it, one step after the other, and reads it when it may go
// on.
type stepReader struct {
	httptest.ResponseRecorder
	waits []chan<- int
	goOn  []<-chan struct{}
}

func (w *stepReader) Write(p []byte) (int, error) {
	if len(w.waits) > 0 {
		w.waits[0] <- len(p)
		<-w.goOn[0]
		w.waits, w.goOn = w.waits[1:], w.goOn[1:]
	}
	return len(p), nil
}

// stalledBody gives so many bytes and then waits.
type stalledBody struct {
	left    int
	stalled chan struct{} // closed when all was given
	goOn    chan struct{}
}

func (b *stalledBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		close(b.stalled)
		<-b.goOn
		return 0, io.ErrUnexpectedEOF
	}
	n := min(b.left, len(p))
	b.left -= n
	for i := range n {
		p[i] = ' '
	}
	return n, nil
}

func (b *stalledBody) Close() error { return nil }

// slowSenders are requests whose bodies do not end.
type slowSenders struct {
	handler http.Handler
	goOn    chan struct{}
	all     sync.WaitGroup
	ended   sync.Once
}

func newSlowSenders(t *testing.T, handler http.Handler) *slowSenders {
	s := &slowSenders{handler: handler, goOn: make(chan struct{})}
	t.Cleanup(s.end) // the bytes count for the tests that follow, too
	return s
}

// send begins a request that sends so many bytes of its body. It returns the answer if one
// comes before, and else nil.
func (s *slowSenders) send(request *http.Request, length int64, bytes int) *httptest.ResponseRecorder {
	body := &stalledBody{left: bytes, stalled: make(chan struct{}), goOn: s.goOn}
	request.Body, request.ContentLength = body, length
	w, done := httptest.NewRecorder(), make(chan struct{})
	s.all.Go(func() {
		s.handler.ServeHTTP(w, request)
		close(done)
	})
	select {
	case <-body.stalled:
		return nil
	case <-done:
		return w
	}
}

// end cuts all bodies off.
func (s *slowSenders) end() {
	s.ended.Do(func() { close(s.goOn) })
	s.all.Wait()
}

// TestSlowSendersHoldLittle: a body counts with the bytes that have come, whatever length it
// announces. Over the bound of the organization a request gets 429 in the middle of its body.
func TestSlowSendersHoldLittle(t *testing.T) {
	r := newRig(t, &httpadapter.TriggerOptions{Options: httpadapter.Options{MaxBody: 8 << 20}})
	r.organize("globex", true, true)
	_, key, err := r.service.IssueKey(t.Context(), "globex", "", "")
	require.NoError(t, err)
	senders := newSlowSenders(t, r.handler)
	send := func(key string, length int64, bytes int) *httptest.ResponseRecorder {
		request := httptest.NewRequest("POST", "/triggers", nil)
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		return senders.send(request, length, bytes)
	}
	for range 500 {
		require.Nil(t, send(r.key, 8<<20, 1000))
	}
	for i := range 7 { // buffers of 4 MiB
		require.Nil(t, send(r.key, []int64{8 << 20, -1}[i%2], 1<<20+1))
	}
	refused := send(r.key, 8<<20, 1<<20+1)
	require.NotNil(t, refused)
	requireNoRoom(t, refused)
	requireError(t, refused, http.StatusTooManyRequests, "too_many_requests")
	require.Nil(t, send(key.Reveal(), 8<<20, 1<<20+1), "another organization's")
	require.Equal(t, http.StatusAccepted, r.post(`{"instructions":"Short."}`).Code)
	senders.end()
	require.Equal(t, http.StatusUnprocessableEntity, r.post(strings.Repeat(" ", 8<<20)).Code, "it is read to its end")
}

// TestOneLargeBodyAlways: an organization without other requests may send one body of any size
// that the service takes.
func TestOneLargeBodyAlways(t *testing.T) {
	r := newRig(t, &httpadapter.TriggerOptions{Options: httpadapter.Options{MaxBody: 64 << 20}})
	body := `{"instructions":"x","context":{"a":"` + strings.Repeat("x", 40<<20) + `"}}`
	w := r.post(body)
	require.NotEqual(t, http.StatusTooManyRequests, w.Code)
}

// TestSlowLoginsHoldLittle: of an address, and of all addresses together.
func TestSlowLoginsHoldLittle(t *testing.T) {
	r := newLoginRig(t, 0)
	senders := newSlowSenders(t, r.handler)
	send := func(address string) *httptest.ResponseRecorder {
		request := httptest.NewRequest("POST", login, nil)
		request.RemoteAddr = address
		request.Header.Set("Content-Type", asForm)
		return senders.send(request, 64<<10, 10)
	}
	for i := range 256 {
		require.Nil(t, send(fmt.Sprintf("203.0.113.1:%d", i)))
	}
	refused := send("203.0.113.1:7")
	require.NotNil(t, refused)
	requireNoRoom(t, refused)
	requireTokenError(t, refused, http.StatusTooManyRequests, "slow_down")
	require.Equal(t, http.StatusOK, r.login("c1", r.secret, "203.0.113.2:1").Code, "from elsewhere")
	for i := range 4096 - 256 {
		require.Nil(t, send(fmt.Sprintf("[2001:db8:0:%x::1]:7", i)))
	}
	requireTokenError(t, r.login("c1", r.secret, "203.0.113.2:1"), http.StatusTooManyRequests, "slow_down")
	senders.end()
	require.Equal(t, http.StatusOK, r.login("c1", r.secret, "203.0.113.1:1").Code)
}
