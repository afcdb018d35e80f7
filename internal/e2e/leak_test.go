package e2e

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestNothingOutlivesClose runs the whole of it, stops it in the middle of its work, and
// looks for goroutines and, by their goroutines, for connections that are still there.
func TestNothingOutlivesClose(t *testing.T) {
	before := goleak.IgnoreCurrent()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	handler, err := httpadapter.NewTrigger(service, httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	}), &httpadapter.TriggerOptions{History: true})
	require.NoError(t, err)
	started := make(chan struct{}, 100)
	worker, err := trigger.NewWorker(service, func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
		started <- struct{}{}
		if e.Instructions == "hang" {
			<-ctx.Done()
			return trigger.Outcome{}, ctx.Err()
		}
		return trigger.Outcome{}, nil
	}, &trigger.WorkerOptions{Drain: 1})
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	server := httptest.NewServer(handler)
	client := &http.Client{Transport: &http.Transport{}}
	for _, instructions := range []string{"pass", "hang", "pass", "hang"} {
		resp, err := client.Post(server.URL+"/triggers", "application/json", strings.NewReader(`{"instructions":"`+instructions+`"}`))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusAccepted, resp.StatusCode)
		<-started
	}

	stop()
	require.NoError(t, <-ended)
	client.CloseIdleConnections()
	server.Close()
	require.NoError(t, db.Close())
	goleak.VerifyNone(t, before)

	page, err := service.ListEvents(t.Context(), "acme", trigger.EventQuery{Status: trigger.StatusReceived})
	require.NoError(t, err)
	require.Len(t, page.Items, 2, "what was cut off waits for the next worker")
}
