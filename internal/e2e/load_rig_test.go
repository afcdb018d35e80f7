package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endurance bounds the waits of these tests for the work of thousands of events. Like
// patience, it is for machines that are busy: no promise is measured by it.
const endurance = 3 * time.Minute

// seeded returns a number that MORTISE_SEED sets, and says which it is. It decides what
// is sent and when a server is ended. How far the server has come by then is up to the
// machine, so a replay is likely to fail again, not bound to.
func seeded(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64() >> 1
	if text := os.Getenv("MORTISE_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "MORTISE_SEED")
	}
	t.Logf("replay: MORTISE_SEED=%d", seed)
	return seed
}

// load sends triggers from several clients, and keeps what they were told.
type load struct {
	t       testing.TB
	key     string // API key
	http    *http.Client
	clients []*client

	actions         bool   // some requests are for later, and some of their events are cancelled
	lostConnections bool   // share sends again what got no answer since a server died
	refused         string // the last error of events whose request was refused after they were stored; "": there are none

	acknowledged atomic.Int64  // how many requests got a 202
	accepted     func(n int64) // nil, or called by the client whose request was the n-th of these

	mu   sync.Mutex
	sent map[string]*request // by instructions
}

// request is one trigger to submit. Its instructions are no other's, so its events can be
// told in the history.
type request struct {
	from         *client
	instructions string
	context      string // JSON as it is sent, "" for none
	key          string // Idempotency-Key, "" for none

	notBefore time.Time // the zero time for at once
	cancels   bool      // its event is cancelled once it is accepted, if a server answers

	id        string // the event's, as the 202 said; "" for no 202
	lost      int    // how often it got no answer
	cancelled *entry // the answer of the cancellation; nil for none
	asked     bool   // a cancellation was sent, with or without an answer
}

// client sends one request at a time.
type client struct {
	load    *load
	name    string
	rand    *rand.Rand
	http    *http.Client
	allKeys bool     // every request has an Idempotency-Key, not just every other
	next    int      // number of the next request
	pending *request // has a key and no answer yet: it is to be sent again
}

func newLoad(t *testing.T, seed uint64, clients int) *load {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	t.Cleanup(transport.CloseIdleConnections)
	l := &load{t: t, key: goodKey, http: &http.Client{Transport: transport}, sent: make(map[string]*request)}
	for i := range clients {
		l.clients = append(l.clients, l.client(fmt.Sprintf("client %d", i), seed+uint64(i)))
	}
	return l
}

// client returns one more client, which takes no part in what all do together.
func (l *load) client(name string, seed uint64) *client {
	return &client{load: l, name: name, rand: rand.New(rand.NewPCG(seed, 0)), http: l.http}
}

// take returns the request that the client has to send: the one without an answer, or a
// new one.
func (c *client) take() *request {
	if r := c.pending; r != nil {
		return r
	}
	r := &request{from: c, instructions: fmt.Sprintf("Describe %d of %s.\x00 \U0001F600\u2028</script>", c.next, c.name), context: oddContext(c.rand)}
	if c.allKeys || c.next%2 == 0 {
		r.key = fmt.Sprintf("key-%d-of-%s", c.next, strings.ReplaceAll(c.name, " ", "-"))
		c.pending = r
	}
	if c.load.actions {
		if c.rand.IntN(8) == 0 {
			r.notBefore = time.Now().Add(time.Duration(c.rand.IntN(4000)) * time.Millisecond).UTC().Truncate(time.Millisecond)
		}
		r.cancels = c.rand.IntN(6) == 0
	}
	c.next++
	c.load.mu.Lock()
	defer c.load.mu.Unlock()
	c.load.sent[r.instructions] = r
	return r
}

// send sends a request once. A status of 0 means that no answer came.
func (c *client) send(ctx context.Context, url string, r *request) (status int, err error) {
	instructions, err := json.Marshal(r.instructions)
	require.NoError(c.load.t, err)
	body := `{"instructions":` + string(instructions) + `}`
	if r.context != "" {
		body = "{\"context\": " + r.context + ",\n\"instructions\":" + string(instructions) + `}`
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/triggers", strings.NewReader(body))
	require.NoError(c.load.t, err)
	call.Header.Set("Authorization", "Bearer "+c.load.key)
	call.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		call.Header.Set("Idempotency-Key", r.key)
	}
	if !r.notBefore.IsZero() {
		call.Header.Set("Trigger-Not-Before", r.notBefore.Format(time.RFC3339Nano))
	}
	resp, err := c.http.Do(call)
	if err != nil {
		r.lost++
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		r.lost++
		return 0, fmt.Errorf("in the middle of an answer: %v", err) // not wrapped: it shall not pass for a refused connection
	}
	if resp.StatusCode != http.StatusAccepted {
		return resp.StatusCode, fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	var accepted event
	if err := json.Unmarshal(answer, &accepted); err != nil || accepted.ID == "" {
		return resp.StatusCode, fmt.Errorf("a 202 that says %q", answer)
	}
	if r.id != "" && r.id != accepted.ID {
		c.load.t.Errorf("%q became the events %s and %s", r.instructions, r.id, accepted.ID)
	}
	if r.id == "" {
		n := c.load.acknowledged.Add(1)
		if c.load.accepted != nil {
			c.load.accepted(n)
		}
	}
	r.id = accepted.ID
	if c.pending == r {
		c.pending = nil
	}
	return resp.StatusCode, nil
}

// cancel cancels the event of a request. An event that has ended is left alone.
func (c *client) cancel(ctx context.Context, url string, r *request) (status int, err error) {
	r.asked = true
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/triggers/"+r.id+"/cancel", nil)
	require.NoError(c.load.t, err)
	call.Header.Set("Authorization", "Bearer "+c.load.key)
	resp, err := c.http.Do(call)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return 0, fmt.Errorf("in the middle of an answer: %v", err)
	case resp.StatusCode == http.StatusConflict:
		return resp.StatusCode, nil
	case resp.StatusCode != http.StatusOK:
		return resp.StatusCode, fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	r.cancelled = new(entry)
	return resp.StatusCode, json.Unmarshal(answer, r.cancelled)
}

// sendAll has every client send requests until one fails, and calls failed with that. It
// returns a function that waits for all.
func (l *load) sendAll(url string, failed func(r *request, status int, err error)) (wait func()) {
	var running sync.WaitGroup
	for _, c := range l.clients {
		running.Go(func() {
			for {
				r := c.take()
				status, err := c.send(l.t.Context(), url, r)
				if err == nil && r.cancels {
					status, err = c.cancel(l.t.Context(), url, r)
				}
				if err != nil {
					failed(r, status, err)
					return
				}
			}
		})
	}
	return running.Wait
}

// entry is an entry of the history, with what event leaves out.
type entry struct {
	event
	FinishedAt *string `json:"finished_at"`
	Log        []struct {
		StartedAt time.Time `json:"started_at"`
	} `json:"attempts_log"`
}

// history reads the whole history, or all that has a status, by event ID.
func (l *load) history(s *server, status string) map[string]entry {
	l.t.Helper()
	events := make(map[string]entry)
	for query := "limit=1000" + status; ; {
		var page struct {
			Triggers []entry
			Next     *string `json:"next_cursor"`
		}
		a := s.do("GET", "/triggers?"+query, l.key, "")
		require.Equal(l.t, http.StatusOK, a.status, a.body)
		require.NoError(l.t, json.Unmarshal([]byte(a.body), &page))
		for _, e := range page.Triggers {
			if _, ok := events[e.ID]; ok { // not by assert, which searches a map from end to end
				l.t.Errorf("event %s is twice in the history", e.ID)
			}
			events[e.ID] = e
		}
		if page.Next == nil {
			return events
		}
		query = "limit=1000" + status + "&cursor=" + *page.Next
	}
}

// awaitIdle waits until no event is received or processing.
func (l *load) awaitIdle(s *server) {
	l.t.Helper()
	for begun := time.Now(); ; pause(begun) {
		left := 0
		for _, status := range []string{"received", "processing"} {
			a := s.do("GET", "/triggers?limit=1&status="+status, l.key, "")
			require.Equal(l.t, http.StatusOK, a.status, a.body)
			left += strings.Count(a.body, "trigger_event_id")
		}
		if left == 0 {
			return
		}
		require.Less(l.t, time.Since(begun), endurance, "events are still to be processed; stderr: %s", &s.stderr)
	}
}

// check compares the whole history of an idle server with what the clients know, and
// returns it. unanswered is how many of its events stand for a request that got no
// answer.
func (l *load) check(s *server) (history map[string]entry, unanswered int) {
	l.t.Helper()
	history = l.history(s, "")
	maps.DeleteFunc(history, func(_ string, e entry) bool {
		return l.refused != "" && e.Status == "failed" && e.LastError != nil && strings.HasPrefix(*e.LastError, l.refused)
	})
	seen := make(map[string]string) // IDs by instructions
	for id, e := range history {
		r := l.sent[e.Instructions]
		if !assert.NotNil(l.t, r, "nobody sent event %s: %q", id, e.Instructions) {
			continue
		}
		if other, ok := seen[e.Instructions]; ok {
			l.t.Errorf("%q became the events %s and %s", e.Instructions, other, id)
		}
		seen[e.Instructions] = id
		if r.id == "" {
			unanswered++
			assert.Positive(l.t, r.lost, "event %s is in the history, and its request was refused", id)
		} else {
			assert.Equal(l.t, r.id, id, "another event than the 202 said")
		}
		l.checkEvent(r, e)
	}
	for _, r := range l.sent {
		if _, ok := history[r.id]; !ok && r.id != "" {
			l.t.Errorf("event %s got a 202 and is not in the history", r.id)
		}
	}
	l.checkEach(s)
	return history, unanswered
}

// checkRuns compares a history with how often each of its events was processed, and
// returns how many runs were more than the one that each event needs.
func (l *load) checkRuns(history map[string]entry, runs map[string]int) (duplicates int) {
	l.t.Helper()
	for id, e := range history {
		assert.True(l.t, runs[id] > 0 || e.Status == "cancelled", "event %s was not processed", id)
		assert.GreaterOrEqual(l.t, e.Attempts, runs[id], "event %s: an attempt counts when it begins", id)
		duplicates += max(runs[id]-1, 0)
	}
	for id := range runs {
		if _, ok := history[id]; !ok {
			l.t.Errorf("event %s was processed and is not in the history", id)
		}
	}
	return duplicates
}

// checkEach gets each acknowledged event by its ID, from as many clients as sent them.
func (l *load) checkEach(s *server) {
	ids := make(chan *request)
	var readers sync.WaitGroup
	for range l.clients {
		readers.Go(func() {
			for r := range ids {
				a := s.do("GET", "/triggers/"+r.id, l.key, "")
				var e entry
				if assert.Equal(l.t, http.StatusOK, a.status, "event %s got a 202: %s", r.id, a.body) && assert.NoError(l.t, json.Unmarshal([]byte(a.body), &e)) {
					l.checkEvent(r, e)
				}
			}
		})
	}
	for _, r := range l.sent {
		if r.id != "" {
			ids <- r
		}
	}
	close(ids)
	readers.Wait()
}

// checkEvent compares an event with its request, and wants it to be completed.
func (l *load) checkEvent(r *request, e entry) {
	l.t.Helper()
	var want bytes.Buffer
	if assert.NoError(l.t, json.Compact(&want, []byte(r.context))) && want.String() != string(e.Context) {
		l.t.Errorf("event %s: the context %s came back as %s", e.ID, want.String(), e.Context)
	}
	done := e.Status == "completed" && e.Outcome != nil
	if cancelled := r.asked && e.Status == "cancelled" && e.Outcome == nil; r.instructions != e.Instructions || !done && !cancelled || e.FinishedAt == nil {
		l.t.Errorf("event %s of %q is %+v", e.ID, r.instructions, e)
	}
	for _, attempt := range e.Log {
		assert.False(l.t, attempt.StartedAt.Before(r.notBefore), "event %s began before its time", e.ID)
	}
	if c := r.cancelled; c != nil {
		assert.Equal(l.t, "cancelled", e.Status, "event %s was cancelled", e.ID)
		assert.Equal(l.t, c.FinishedAt, e.FinishedAt, "event %s was cancelled", e.ID)
		assert.Equal(l.t, c.Attempts, e.Attempts, "event %s was begun after it was cancelled", e.ID)
	}
}

// countRuns adds how often a server, which has ended, ran its default Processor, by event
// ID. Its log is complete: exited is closed once the last byte of it has been read.
func (s *server) countRuns(runs map[string]int) {
	s.t.Helper()
	<-s.exited
	for line := range strings.Lines(s.stderr.String()) {
		var entry struct{ Msg, Event string }
		if assert.NoError(s.t, json.Unmarshal([]byte(line), &entry), line) && entry.Msg == "trigger event" {
			runs[entry.Event]++
		}
	}
}
