package httpadapter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
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
}

func newCrowd(t *testing.T, handler http.Handler) *crowd {
	return &crowd{t: t, handler: handler, goOn: make(chan struct{})}
}

// read begins a request, and returns the bytes that wait for its client, or the answer.
func (c *crowd) read(r *http.Request) (waiting int, answer *slowReader) {
	w := &slowReader{ResponseRecorder: *httptest.NewRecorder(), waits: make(chan int), goOn: c.goOn}
	done := make(chan struct{})
	c.all.Go(func() {
		c.handler.ServeHTTP(w, r)
		close(done)
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
	close(c.goOn)
	c.all.Wait()
}

func requireNoRoom(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, http.StatusTooManyRequests, w.Code, w.Body.String())
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Equal(t, "close", w.Header().Get("Connection"))
}

// TestSlowReadersHoldLittle: of lists of large items, as many bytes wait for an
// organization's clients as it may hold, and one more client gets 429. Another organization
// gets its list, and the first one does once its clients have read.
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

// TestListThatFindsNoRoomEndsEarly: one that has begun, with the cursor of where to go on.
func TestListThatFindsNoRoomEndsEarly(t *testing.T) {
	r := newRig(t, nil)
	large := func(e *trigger.Event) { e.Instructions = strings.Repeat("x", 3<<20) }
	for i := range 4 {
		r.put(i, large)
	}
	for i := range 50 { // the first step of the list
		r.put(100+i, nil)
	}
	request := func(path string) *http.Request {
		request := httptest.NewRequest("GET", path, nil)
		request.Header.Set("Authorization", "Bearer "+r.key)
		return request
	}
	list := newCrowd(t, r.handler)
	n, _ := list.read(request("/triggers?limit=60"))
	require.NotZero(t, n)
	others := newCrowd(t, r.handler)
	for refused := (*slowReader)(nil); refused == nil; {
		_, refused = others.read(request("/triggers?to=2026-11-01T00:00:10Z&limit=2"))
	}
	list.release()
	var p page
	require.NoError(t, json.Unmarshal(list.readers[0].Body.Bytes(), &p))
	require.Len(t, p.Triggers, 50, "the first step")
	require.NotNil(t, p.NextCursor)
	others.release()
	got := len(p.Triggers)
	for p.NextCursor != nil {
		p = r.page("limit=60&cursor=" + *p.NextCursor)
		got += len(p.Triggers)
	}
	require.Equal(t, 54, got)
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

// TestSlowSendersHoldLittle: bodies count as they grow, whatever they are announced to be,
// and over the organization's share a request gets 429 in the middle of its body.
func TestSlowSendersHoldLittle(t *testing.T) {
	r := newRig(t, &httpadapter.TriggerOptions{Options: httpadapter.Options{MaxBody: 8 << 20}})
	r.organize("globex", true, true)
	_, key, err := r.service.IssueKey(t.Context(), "globex", "", "")
	require.NoError(t, err)
	goOn := make(chan struct{})
	var all sync.WaitGroup
	send := func(key string, length int64, given int) (refused *httptest.ResponseRecorder) {
		b := &stalledBody{left: given, stalled: make(chan struct{}), goOn: goOn}
		request := httptest.NewRequest("POST", "/triggers", b)
		request.ContentLength = length
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		w, done := httptest.NewRecorder(), make(chan struct{})
		all.Go(func() {
			r.handler.ServeHTTP(w, request)
			close(done)
		})
		select {
		case <-b.stalled:
			return nil
		case <-done:
			return w
		}
	}
	for range 500 { // what they announce does not count
		require.Nil(t, send(r.key, 8<<20, 1000))
	}
	for i := range 7 { // what has come does, and the next step: 4 MiB
		require.Nil(t, send(r.key, []int64{8 << 20, -1}[i%2], 1<<20+1))
	}
	refused := send(r.key, 8<<20, 1<<20+1)
	require.NotNil(t, refused)
	requireNoRoom(t, refused)
	requireError(t, refused, http.StatusTooManyRequests, "too_many_requests")
	require.Nil(t, send(key.Reveal(), 8<<20, 1<<20+1), "another organization's")
	require.Equal(t, http.StatusAccepted, r.post(`{"instructions":"Short."}`).Code)
	close(goOn)
	all.Wait()
	require.Equal(t, http.StatusUnprocessableEntity, r.post(strings.Repeat(" ", 8<<20)).Code, "it is read to its end")
}

// TestOneLargeBodyAlways: who holds nothing may send one body of any size that the service
// takes.
func TestOneLargeBodyAlways(t *testing.T) {
	r := newRig(t, &httpadapter.TriggerOptions{Options: httpadapter.Options{MaxBody: 64 << 20}})
	body := `{"instructions":"x","context":{"a":"` + strings.Repeat("x", 40<<20) + `"}}`
	w := r.post(body)
	require.NotEqual(t, http.StatusTooManyRequests, w.Code)
}

// TestSlowLoginsHoldLittle: of an address, and of all addresses together.
func TestSlowLoginsHoldLittle(t *testing.T) {
	r := newLoginRig(t, 0)
	goOn := make(chan struct{})
	var all sync.WaitGroup
	send := func(address string) (refused *httptest.ResponseRecorder) {
		b := &stalledBody{left: 10, stalled: make(chan struct{}), goOn: goOn}
		request := httptest.NewRequest("POST", login, b)
		request.ContentLength = 64 << 10
		request.RemoteAddr = address
		request.Header.Set("Content-Type", asForm)
		w, done := httptest.NewRecorder(), make(chan struct{})
		all.Go(func() {
			r.handler.ServeHTTP(w, request)
			close(done)
		})
		select {
		case <-b.stalled:
			return nil
		case <-done:
			return w
		}
	}
	taken := 0
	for ; send(fmt.Sprintf("203.0.113.1:%d", taken)) == nil; taken++ {
		require.Less(t, taken, 256<<10/(1<<10))
	}
	refused := send("203.0.113.1:7")
	requireNoRoom(t, refused)
	requireTokenError(t, refused, http.StatusTooManyRequests, "slow_down")
	require.Equal(t, http.StatusOK, r.login("c1", r.secret, "203.0.113.2:1").Code, "from elsewhere")
	for i := 0; send(fmt.Sprintf("[2001:db8:0:%x::1]:7", i)) == nil; i++ {
		require.Less(t, taken+i, 4<<20/(1<<10))
	}
	requireTokenError(t, r.login("c1", r.secret, "203.0.113.2:1"), http.StatusTooManyRequests, "slow_down")
	close(goOn)
	all.Wait()
	require.Equal(t, http.StatusOK, r.login("c1", r.secret, "203.0.113.1:1").Code)
}

// TestLongListsAreStreamed: in steps, and to the last item.
func TestLongListsAreStreamed(t *testing.T) {
	r := newRig(t, nil)
	for i := range 120 {
		r.put(i, nil)
	}
	for limit, steps := range map[int]int{1: 1, 50: 1, 51: 2, 120: 3, 1000: 3} {
		w := &countedWriter{ResponseRecorder: *httptest.NewRecorder()}
		request := httptest.NewRequest("GET", fmt.Sprintf("/triggers?limit=%d", limit), nil)
		request.Header.Set("Authorization", "Bearer "+r.key)
		r.handler.ServeHTTP(w, request)
		require.Equal(t, steps, w.writes, "limit %d", limit)
		var p page
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		require.Len(t, p.Triggers, min(limit, 120))
		require.Equal(t, limit < 120, p.NextCursor != nil)
	}
}

type countedWriter struct {
	httptest.ResponseRecorder
	writes int
}

func (w *countedWriter) Write(p []byte) (int, error) {
	w.writes++
	return w.ResponseRecorder.Write(p)
}

// TestListThatFailsLaterIsCutOff: it is never a shorter valid document.
func TestListThatFailsLaterIsCutOff(t *testing.T) {
	r := newRig(t, nil)
	for i := range 120 {
		r.put(i, nil)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.handler.ServeHTTP(&failingLater{w, r}, request)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/triggers?limit=100", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+r.key)
	resp, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	got, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.True(t, bytes.HasPrefix(got, []byte(`{"triggers":[{`)), "%.40s", got)
	require.Contains(t, r.log.String(), "request failed")
}

// failingLater takes the store away with the first step of an answer.
type failingLater struct {
	http.ResponseWriter
	r *rig
}

func (w *failingLater) Write(p []byte) (int, error) {
	w.r.store.err = errors.New("disk full")
	return w.ResponseWriter.Write(p)
}

// standing is a store whose lists do not go on.
type standing struct{ trigger.Store }

func (s standing) ListEvents(context.Context, string, trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	return mortise.Page[trigger.Event]{Next: mortise.Position{At: time.Unix(1, 0)}}, nil
}

// TestListThatDoesNotGoOn ends all the same.
func TestListThatDoesNotGoOn(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	service, err := trigger.New(trigger.Backend{Store: standing{db.Trigger().Store}, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	handler, err := httpadapter.NewTrigger(service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	}), &httpadapter.TriggerOptions{History: true, Options: httpadapter.Options{Logger: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/triggers", nil))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
}
