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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSlowClients prints how much more memory a server has beside clients of one
// organization that read lists of the largest items slowly, that send bodies slowly, or that
// log in slowly without a credential, and how long another organization's list takes
// meanwhile. It takes some minutes, and runs with MORTISE_SOAK=1 only.
//
//	MORTISE_SOAK=1 go test ./internal/e2e -run TestSlowClients -v -timeout 1h
func TestSlowClients(t *testing.T) {
	if os.Getenv("MORTISE_SOAK") != "1" {
		t.Skip("only with MORTISE_SOAK=1: it measures")
	}
	p := buildServer(t)
	for name, storage := range map[string]func(t *testing.T) []string{
		"memory":     func(*testing.T) []string { return []string{"-memory"} },
		"SQLite":     func(*testing.T) []string { return nil },
		"PostgreSQL": func(t *testing.T) []string { return []string{"-postgres", sharedDatabase(t)} },
	} {
		t.Run(name, func(t *testing.T) { slowClients(t, p, storage(t)) })
	}
}

func slowClients(t *testing.T, p program, args []string) {
	document := t.TempDir() + "/organizations.json"
	const collection = `"doc_collections": [{"id": "` + largeCollection + `", "ready": true}]`
	require.NoError(t, os.WriteFile(document, []byte(`{"organizations": [
		{"id": "acme", "rbac_enabled": true, "setup_complete": true, `+collection+`, "api_keys": [{"key": "`+goodKey+`"}],
		 "access_tokens": [{"token": "`+rootToken+`", "subject": "root"}], "vaults": [{"id": "v1", "tables": []}]},
		{"id": "other", "setup_complete": true, `+collection+`, "api_keys": [{"key": "`+otherKey+`"}]}
	]}`), 0o600))
	key := writeKey(t, strings.Repeat("0123456789abcdef", 4))
	s := p.start(t, nil, append(args, "-config", document, "-vault-key", key)...)

	large := strings.Repeat("x", 1<<20-100)
	for range 20 {
		a := s.do(http.MethodPost, "/triggers", goodKey, `{"instructions":"`+large+`"}`)
		require.Equal(t, http.StatusAccepted, a.status, a.body)
	}
	roles := strings.TrimSuffix(strings.Repeat(`{"role_id":"viewer","resource":"client","resource_instance":"%s"},`, 60), ",")
	var instances []any
	for i := range 60 {
		instances = append(instances, fmt.Sprintf("%0100d", i))
	}
	roles = fmt.Sprintf(roles, instances...)
	for i := range 1000 {
		a := s.do(http.MethodPost, clientsPath, rootToken, fmt.Sprintf(`{"name":"client %d","roles":[%s]}`, i, roles))
		require.Equal(t, http.StatusCreated, a.status, a.body)
		a = s.do(http.MethodPost, invitationsPath, rootToken, fmt.Sprintf(`{"name":"n","email":"a%d@example.com","roles":[%s]}`, i, roles))
		require.Equal(t, http.StatusCreated, a.status, a.body)
	}

	beside := func(name string, n int, request func(i int) string) {
		time.Sleep(2 * time.Second)
		idle, before := s.listTimes(), s.resident(t)
		most := make(chan int)
		stop := make(chan struct{})
		go func() {
			top := 0
			for {
				select {
				case <-stop:
					most <- top
					return
				case <-time.After(10 * time.Millisecond):
					top = max(top, s.resident(t))
				}
			}
		}()
		var all sync.WaitGroup
		conns := make([]net.Conn, n)
		for i := range conns {
			all.Go(func() { conns[i] = s.hold(request(i)) })
		}
		all.Wait()
		busy := s.listTimes()
		close(stop)
		t.Logf("%d %s: %d MB over %d MB at most; another organization's list: %s; without them: %s", n, name, <-most-before, before, busy, idle)
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	}
	get := func(path, key string) func(int) string {
		return func(int) string {
			return "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n\r\n"
		}
	}
	beside("slow readers of events", 300, get("/triggers?limit=1000", goodKey))
	beside("slow readers of clients", 300, get(clientsPath+"?limit=1000", rootToken))
	beside("slow readers of invitations", 300, get(invitationsPath+"?limit=1000", rootToken))
	beside("slow senders of 8 MiB", 200, func(int) string {
		return "POST /v1/vaults/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + rootToken +
			"\r\nContent-Length: 8388608\r\n\r\n" + strings.Repeat(" ", 8<<20-1)
	})
	beside("slow logins", 2000, func(int) string {
		return "POST /api/v0/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\n" +
			strings.Repeat("x", 50_000)
	})
}

const otherKey = "sk-other-0123456789abcdef0123456789abcdef0123456789abcdef"

// hold sends what it can of a request within two seconds, and reads nothing.
func (s *server) hold(request string) net.Conn {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return nil
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.WriteString(conn, request)
	return conn
}

// listTimes says how long a list of the other organization takes, for three seconds.
func (s *server) listTimes() string {
	var all []time.Duration
	for begun := time.Now(); time.Since(begun) < 3*time.Second; {
		one := time.Now()
		a := s.do(http.MethodGet, "/triggers", otherKey, "")
		assert.Equal(s.t, http.StatusOK, a.status)
		all = append(all, time.Since(one))
	}
	slices.Sort(all)
	round := func(at int) time.Duration { return all[at].Round(10 * time.Microsecond) }
	return fmt.Sprintf("median %v, 99 of 100 within %v, worst %v", round(len(all)/2), round(len(all)*99/100), round(len(all)-1))
}
