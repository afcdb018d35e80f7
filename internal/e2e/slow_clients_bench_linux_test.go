package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkSlowClients measures the resident memory of a server beside slow clients of one
// organization, over its memory before them: at the peak, and ten seconds later. list is the
// median time of another organization's list beside them, as a multiple of its time without
// them; worst is the longest one, in ms.
//
//	go test ./internal/e2e -run '^$' -bench SlowClients -benchtime 1x
func BenchmarkSlowClients(b *testing.B) {
	get := func(path, key string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n\r\n"
	}
	post := func(path, headers string, length, sent int) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", path, headers, length, strings.Repeat("x", sent))
	}
	for _, storage := range []string{"memory", "SQLite", "PostgreSQL"} {
		for _, c := range []struct {
			name    string
			fill    func(*server)
			clients int
			request string
		}{
			{"readers of events", fillEvents, 300, get("/triggers?limit=1000", goodKey)},
			{"readers of clients", fillClients, 300, get(clientsPath+"?limit=1000", rootToken)},
			{"readers of invitations", fillInvitations, 300, get(invitationsPath+"?limit=1000", rootToken)},
			{"senders", func(*server) {}, 200, post("/v1/vaults/v1/tokenize",
				"Content-Type: application/json\r\nAuthorization: Bearer "+rootToken+"\r\n", 8<<20, 8<<20-1)},
			{"logins", func(*server) {}, 2000, post(loginPath, "Content-Type: application/x-www-form-urlencoded\r\n", 60_000, 50_000)},
		} {
			b.Run(storage+"/"+c.name, func(b *testing.B) {
				s := startForSlowClients(b, storage)
				c.fill(s)
				for b.Loop() {
					s.measureSlowClients(b, c.clients, c.request)
				}
			})
		}
	}
}

// startForSlowClients starts a server with two organizations, of which the second one is quick.
func startForSlowClients(b *testing.B, storage string) *server {
	document := b.TempDir() + "/organizations.json"
	const collection = `"setup_complete": true, "doc_collections": [{"id": "` + largeCollection + `", "ready": true}]`
	require.NoError(b, os.WriteFile(document, []byte(`{"organizations": [
		{"id": "acme", "rbac_enabled": true, `+collection+`, "api_keys": [{"key": "`+goodKey+`"}],
		 "access_tokens": [{"token": "`+rootToken+`", "subject": "root"}], "vaults": [{"id": "v1", "tables": []}]},
		{"id": "other", `+collection+`, "api_keys": [{"key": "`+quickKey+`"}]}
	]}`), 0o600))
	args := []string{"-config", document, "-vault-key", writeKey(b, strings.Repeat("0123456789abcdef", 4))}
	switch storage {
	case "memory":
		args = append(args, "-memory")
	case "PostgreSQL":
		args = append(args, "-postgres", sharedDatabase(b))
	}
	return buildServer(b).start(b, nil, args...)
}

const quickKey = "sk-other-0123456789abcdef0123456789abcdef0123456789abcdef"

// fillEvents submits events of nearly 1 MiB.
func fillEvents(s *server) {
	for range 20 {
		s.create("/triggers", goodKey, http.StatusAccepted, `{"instructions":"`+strings.Repeat("x", 1<<20-100)+`"}`)
	}
}

// fillClients makes clients with nearly 8 KiB of roles, and fillInvitations invitations.
func fillClients(s *server) {
	for i := range 1000 {
		s.create(clientsPath, rootToken, http.StatusCreated, fmt.Sprintf(`{"name":"client %d","roles":[%s]}`, i, manyRoles()))
	}
}

func fillInvitations(s *server) {
	for i := range 1000 {
		s.create(invitationsPath, rootToken, http.StatusCreated, fmt.Sprintf(`{"name":"n","email":"a%d@example.com","roles":[%s]}`, i, manyRoles()))
	}
}

func manyRoles() string {
	var list []string
	for i := range 60 {
		list = append(list, fmt.Sprintf(`{"role_id":"viewer","resource":"client","resource_instance":"%0100d"}`, i))
	}
	return strings.Join(list, ",")
}

func (s *server) create(path, key string, status int, body string) {
	a := s.do(http.MethodPost, path, key, body)
	require.Equal(s.t, status, a.status, a.body)
}

// measureSlowClients sends a request on so many connections, and reads none of the answers.
func (s *server) measureSlowClients(b *testing.B, clients int, request string) {
	idle, _ := s.listTimes()
	before, peak := s.resident(b), 0
	var conns []net.Conn
	var mu sync.Mutex
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				b.Error(err)
				return
			}
			_ = conn.(*net.TCPConn).SetReadBuffer(4096)
			_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
			_, _ = io.WriteString(conn, request) // as far as the server takes it
			mu.Lock()
			defer mu.Unlock()
			conns = append(conns, conn)
		})
	}
	stop, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				peak = max(peak, s.resident(b))
			}
		}
	}()
	beside, worst := s.listTimes()
	all.Wait()
	time.Sleep(10 * time.Second)
	close(stop)
	<-sampled
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(peak-before), "MB-peak")
	b.ReportMetric(float64(s.resident(b)-before), "MB-later")
	b.ReportMetric(float64(beside)/float64(idle), "list")
	b.ReportMetric(float64(worst)/1e6, "worst")
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// listTimes lists the quick organization's events for three seconds.
func (s *server) listTimes() (median, worst time.Duration) {
	var all []time.Duration
	for begun := time.Now(); time.Since(begun) < 3*time.Second; {
		one := time.Now()
		require.Equal(s.t, http.StatusOK, s.do(http.MethodGet, "/triggers", quickKey, "").status)
		all = append(all, time.Since(one))
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)-1]
}
