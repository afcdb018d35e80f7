package httpadapter_test

import (
	"errors"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// anyService is one of the four services, as far as tests of what they have in common
// need to know it.
type anyService struct {
	name    string
	handler *httpadapter.Handler
	bearer  string         // credentials that may do everything
	early   []earlyRequest // requests that are answered without their body being read
	read    string         // method and path of an operation whose body is read
	broken  int            // its status if the body cannot be read
	fine    string         // method and path of one that needs no body,
	status  int            // and its status
	change  string         // method and path of one that changes what is stored,
	body    string         // and its body
	changed func() bool    // whether it was carried out
	fail    func()         // makes the store fail
	log     func() string  // what was logged
}

// earlyRequest is the beginning of a request that has everything but its body's length.
type earlyRequest struct {
	start   string // method and path
	headers string
	status  int
	streams bool // the answer comes when the body is there
}

// everyService puts each of the services on memory, with options that all of them have.
func everyService(t *testing.T, opts httpadapter.Options) []*anyService {
	t.Helper()
	list := []*anyService{triggerService(t, opts), authService(t, opts), vaultService(t, opts), soundService(t, opts)}
	for _, s := range list {
		json, bearer := "Content-Type: application/json\r\n", "Authorization: Bearer "+s.bearer+"\r\n"
		s.early = append(s.early,
			earlyRequest{s.read, json, http.StatusUnauthorized, false},
			earlyRequest{s.read, json + "Authorization: Bearer wrong\r\n", http.StatusUnauthorized, false},
			earlyRequest{s.read, bearer + "Content-Type: text/plain\r\n", http.StatusUnsupportedMediaType, false},
			earlyRequest{"POST /nothing", json + bearer, http.StatusNotFound, false},
			earlyRequest{"POST //x", json, http.StatusNotFound, false},
			earlyRequest{"PATCH " + s.read[len("POST "):], json + bearer, http.StatusMethodNotAllowed, false},
			earlyRequest{s.fine, json + bearer, s.status, false},
		)
	}
	return list
}

func triggerService(t *testing.T, opts httpadapter.Options) *anyService {
	r := newRig(t, &httpadapter.TriggerOptions{Options: opts, History: true})
	return &anyService{
		name: "trigger", handler: r.handler, bearer: r.key, read: "POST /triggers", broken: http.StatusUnprocessableEntity,
		fine: "GET /triggers", status: http.StatusOK, change: "POST /triggers", body: `{"instructions":"smuggled"}`,
		changed: func() bool {
			page, err := r.service.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: 1})
			require.NoError(t, err)
			return len(page.Items) > 0
		},
		fail: func() { r.store.err = errors.New("connection refused") }, log: func() string { return r.log.String() },
	}
}

func authService(t *testing.T, opts httpadapter.Options) *anyService {
	all := everyAuthOption
	all.Options = opts
	r := newAuthRig(t, &all, nil)
	r.client("acme", "old")
	return &anyService{
		name: "authmgmt", handler: r.handler, bearer: r.tokens["full"],
		read: "POST " + clients, broken: http.StatusUnprocessableEntity,
		fine: "GET " + clients + "/old", status: http.StatusOK, change: "POST " + clients, body: `{"name":"smuggled"}`,
		changed: func() bool {
			page, err := r.service.ListClients(t.Context(), "acme", "", 10)
			require.NoError(t, err)
			return len(page.Items) > 1
		},
		early: []earlyRequest{{"GET /api/v1/auth-management/accept-invitation/none", "", http.StatusNotFound, false}},
		fail:  func() { r.faults("Client", "CreateClient", "ListClients") }, log: r.log.String,
	}
}

func vaultService(t *testing.T, opts httpadapter.Options) *anyService {
	all := everyVaultOption
	all.Options = opts
	r := newVaultRig(t, &all, nil)
	return &anyService{
		name: "vault", handler: r.handler, bearer: "full", read: "POST " + persons, broken: http.StatusBadRequest,
		fine: "DELETE " + tokens + "none", status: http.StatusNotFound, change: "POST " + persons, body: `{"records":[{"fields":{"name":"Eve"}}]}`,
		changed: func() bool {
			_, err := r.service.Tokenize(t.Context(), "acme", "v1",
				[]vault.Item{{Place: vault.InColumn("persons", "name"), Value: vault.NewValue("Eve")}})
			if err != nil {
				require.ErrorIs(t, err, vault.ErrValueNotFound)
			}
			return err == nil
		},
		fail: func() { r.faults("Vault", "Rows", "InsertTokens") }, log: r.log.String,
	}
}

func soundService(t *testing.T, opts httpadapter.Options) *anyService {
	all := everySearchOption
	all.Options = opts
	r := newSoundRig(t, &all, nil)
	started, err := r.service.Start(t.Context(), "acme", "operator", audiosearch.Query{Dataset: "calls", Class: dialTone, Limit: 10})
	require.NoError(t, err)
	run := strconv.FormatInt(started.ID, 10)
	return &anyService{
		name: "audiosearch", handler: r.handler, bearer: "full", read: "POST " + soundURL, broken: http.StatusUnprocessableEntity,
		fine: "GET " + jobStatus + run + of("calls"), status: http.StatusOK, change: "POST " + jobCancel + run + of("calls"), body: `{}`,
		changed: func() bool { return r.run(run).State != audiosearch.StateQueued },
		early:   []earlyRequest{{"GET " + jobResult + run + of("calls"), "Authorization: Bearer full\r\n", http.StatusOK, true}},
		fail:    func() { r.faults("Dataset", "Run", "CreateRun", "UpdateRun") }, log: r.log.String,
	}
}
