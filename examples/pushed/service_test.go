package pushed_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/examples/pushed"
)

const secret = "a secret of sixteen bytes or more"

// pushService keeps jobs and pushes them to a host until it is answered with 2xx.
type pushService struct {
	url       string // takes jobs
	now       func() time.Time
	loseEvery int // of the jobs that it acknowledges; 0: none

	mu    sync.Mutex
	host  http.Handler
	tasks []*task
	added int
	lost  int
}

type task struct {
	body       []byte
	due        time.Time
	deliveries int
}

func newPushService(now func() time.Time) (s *pushService, stop func()) {
	s = &pushService{now: now}
	server := httptest.NewServer(http.HandlerFunc(s.take))
	s.url = server.URL
	return s, server.Close
}

// take acknowledges a job.
func (s *pushService) take(w http.ResponseWriter, r *http.Request) {
	var p pushed.Push
	var body bytes.Buffer
	_, err := body.ReadFrom(r.Body)
	if err != nil || json.Unmarshal(body.Bytes(), &p) != nil || r.Header.Get("Authorization") != "Bearer "+secret {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added++
	if s.loseEvery > 0 && s.added%s.loseEvery == 0 {
		s.lost++
		return
	}
	s.tasks = append(s.tasks, &task{body: body.Bytes(), due: p.NotBefore})
}

// push pushes each job that is due, once, and returns how many are left.
func (s *pushService) push() (left int) {
	s.mu.Lock()
	tasks := s.tasks
	s.tasks = nil
	s.mu.Unlock()
	for _, t := range tasks {
		done := false
		if !t.due.After(s.now()) {
			t.deliveries++
			answer := post(s.host, t.body, t.deliveries, secret)
			after, _ := strconv.Atoi(answer.Header().Get("Retry-After"))
			t.due = s.now().Add(time.Duration(after) * time.Second)
			done = answer.Code/100 == 2
		}
		if !done {
			s.mu.Lock()
			s.tasks = append(s.tasks, t)
			s.mu.Unlock()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tasks)
}

// post is one push.
func post(host http.Handler, body []byte, deliveries int, secret string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/jobs", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set(pushed.DeliveriesHeader, strconv.Itoa(deliveries))
	w := httptest.NewRecorder()
	host.ServeHTTP(w, r)
	return w
}
