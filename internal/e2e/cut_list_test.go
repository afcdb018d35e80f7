package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// pagesThenNone is a store whose lists fail after so many pages.
type pagesThenNone struct {
	trigger.Store
	left atomic.Int64
}

func (s *pagesThenNone) ListEvents(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error) {
	if s.left.Add(-1) < 0 {
		return mortise.Page[trigger.Event]{}, errors.New("away")
	}
	return s.Store.ListEvents(ctx, org, q)
}

// TestCutListThroughHAProxy: a list that fails after its first byte arrives with an error, and
// not as a valid document, wherever it is cut.
func TestCutListThroughHAProxy(t *testing.T) {
	t.Parallel()
	haproxy := tool(t, "haproxy")
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	store := &pagesThenNone{Store: db.Trigger().Store}
	service, err := trigger.New(trigger.Backend{Store: store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	for range 200 {
		_, err := service.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: strings.Repeat("x", 1000)})
		require.NoError(t, err)
	}
	handler, err := httpadapter.NewTrigger(service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	}), &httpadapter.TriggerOptions{History: true})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()

	config, front := filepath.Join(t.TempDir(), "haproxy.cfg"), freeAddress(t, "127.0.0.1")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `defaults
	mode http
	timeout connect 1s
	timeout client 10s
	timeout server 10s
frontend front
	bind %s
	default_backend back
backend back
	server one %s
`, front, strings.TrimPrefix(server.URL, "http://")), 0o600))
	proxy := exec.CommandContext(t.Context(), haproxy, "-db", "-f", config)
	require.NoError(t, proxy.Start())
	defer func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
	}()
	list := func(pages int) (status int, body []byte, err error) {
		store.left.Store(int64(pages))
		resp, err := http.Get("http://" + front + "/triggers?limit=200")
		if err != nil {
			return 0, nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		body, err = io.ReadAll(resp.Body)
		return resp.StatusCode, body, err
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		status, body, err := list(5)
		require.NoError(c, err)
		require.Equal(c, http.StatusOK, status)
		require.True(c, json.Valid(body))
	}, patience, 20*time.Millisecond)
	status, _, err := list(0)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	for pages := 1; pages < 4; pages++ {
		_, body, err := list(pages)
		require.Error(t, err, "%d pages", pages)
		require.False(t, json.Valid(body), "%d pages", pages)
	}
}
