package httpadapter_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
)

// panickyHost plugs in everything that a host can, of the adapter and of the services.
// What is named by broken panics.
type panickyHost struct {
	broken string
	value  any
}

func (h *panickyHost) call(name string) {
	if h.broken == name {
		panic(h.value)
	}
}

func (h *panickyHost) Authenticate(*http.Request) (httpadapter.Principal, error) {
	h.call("Authenticate")
	if h.broken == "the authenticator's error" {
		return httpadapter.Principal{}, (*net.OpError)(nil)
	}
	return httpadapter.Principal{Organization: "acme", Subject: "ada", Access: access.Full()}, nil
}

func (h *panickyHost) authorize(_ context.Context, _ httpadapter.Principal, action access.Action, _ access.Resource) error {
	if action == access.Reveal {
		h.call("Authorize reveal")
	} else {
		h.call("Authorize")
	}
	if h.broken == "the error of Authorize" {
		return (*net.OpError)(nil)
	}
	return nil
}

func (h *panickyHost) redaction(context.Context, httpadapter.Principal, vault.Field) vault.Redaction {
	h.call("Redaction")
	return vault.PlainText
}

func (h *panickyHost) observe(context.Context, httpadapter.RequestObservation) {
	h.call("Observer")
}

// options has all hooks of the adapter, and the rig's log.
func (h *panickyHost) options(log *slog.Logger) httpadapter.Options {
	return httpadapter.Options{
		Authorize: h.authorize, Observer: h.observe, Logger: log,
		Wrap: func(_ httpadapter.Operation, next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.call("Wrap")
				next.ServeHTTP(w, r)
			})
		},
	}
}

// mountAll mounts the four services with the host's hooks, and returns a request for each
// that succeeds as long as nothing panics.
func (h *panickyHost) mountAll(t *testing.T, log *slog.Logger) map[string]func() *httptest.ResponseRecorder {
	t.Helper()
	triggers, credentials, values, sounds := newRig(t, nil), newAuthRig(t, nil, nil), newVaultRig(t, nil, &vault.Options{Env: mortise.Env{Logger: log}}), newSoundRig(t, nil, nil)
	token := values.insert("acme", "v1", "persons", "name", "Ada")
	opts := h.options(log)
	handlers := make(map[string]*httpadapter.Handler)
	var err error
	handlers["trigger"], err = httpadapter.NewTrigger(triggers.service, h, &httpadapter.TriggerOptions{Options: opts})
	require.NoError(t, err)
	handlers["authmgmt"], err = httpadapter.NewAuthMgmt(credentials.service, h, &httpadapter.AuthMgmtOptions{Options: opts, Clients: true})
	require.NoError(t, err)
	handlers["vault"], err = httpadapter.NewVault(values.service, h, &httpadapter.VaultOptions{Options: opts, Detokenize: true, Redaction: h.redaction})
	require.NoError(t, err)
	handlers["audiosearch"], err = httpadapter.NewAudioSearch(sounds.service, h, &httpadapter.AudioSearchOptions{Options: opts})
	require.NoError(t, err)
	requests := map[string][3]string{
		"trigger":     {"POST", "/triggers", `{"instructions":"x"}`},
		"authmgmt":    {"GET", clients, ""},
		"vault":       {"POST", "/v1/vaults/v1/detokenize", detokenization(ofToken(token, "PLAIN_TEXT"))},
		"audiosearch": {"POST", soundURL, aSearch("")},
	}
	send := make(map[string]func() *httptest.ResponseRecorder)
	for name, q := range requests {
		send[name] = func() *httptest.ResponseRecorder {
			req := httptest.NewRequest(q[0], q[1], strings.NewReader(q[2]))
			req.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			handlers[name].ServeHTTP(w, req)
			return w
		}
	}
	return send
}

// A panic of a hook is met in the same way by all services: logged with its stack, and
// answered with 503 if its answer was needed. http.ErrAbortHandler goes on to the server,
// and so does every panic of a handler that Wrap has put round.
func TestPanicsOfHooks(t *testing.T) {
	for _, hook := range []struct {
		name     string
		services string
		status   int // 0: it goes on to the server
	}{
		{"Authenticate", "trigger authmgmt vault audiosearch", http.StatusServiceUnavailable},
		{"Authorize", "trigger authmgmt vault audiosearch", http.StatusServiceUnavailable},
		{"Authorize reveal", "vault", http.StatusServiceUnavailable},
		{"Redaction", "vault", http.StatusServiceUnavailable},
		{"Observer", "trigger authmgmt vault audiosearch", http.StatusOK},
		{"Wrap", "trigger authmgmt vault audiosearch", 0},
	} {
		t.Run(hook.name, func(t *testing.T) {
			logged, h := new(lockedBuffer), new(panickyHost)
			for service, send := range h.mountAll(t, slog.New(slog.NewTextHandler(logged, nil))) {
				good := send()
				require.Less(t, good.Code, 300, "%s: %s", service, good.Body)
				if !strings.Contains(hook.services, service) {
					continue
				}
				before := len(logged.String())
				h.broken, h.value = hook.name, "the session of ada"
				if hook.status == 0 {
					require.PanicsWithValue(t, h.value, func() { send() }, service)
				} else {
					w := send()
					want := hook.status
					if want == http.StatusOK {
						want = good.Code
					}
					require.Equal(t, want, w.Code, "%s: %s", service, w.Body)
					require.Equal(t, good.Header().Get("Content-Type"), w.Header().Get("Content-Type"))
					text := logged.String()[before:]
					require.Contains(t, text, `level=ERROR msg="a hook panicked"`, service)
					require.Contains(t, text, "panickyHost).call", "its stack")
					require.Contains(t, text, "request_id="+w.Header().Get("X-Request-Id"))
					require.NotContains(t, text+w.Body.String(), "session of ada")
				}
				h.value = http.ErrAbortHandler
				require.PanicsWithValue(t, http.ErrAbortHandler, func() { send() }, service)
				h.broken = ""
				require.Equal(t, good.Code, send().Code, "it works on")
			}
		})
	}
}

// An error of a hook whose methods panic is a panic of the hook.
func TestErrorsThatPanic(t *testing.T) {
	logged, h := new(lockedBuffer), new(panickyHost)
	for service, send := range h.mountAll(t, slog.New(slog.NewTextHandler(logged, nil))) {
		for _, h.broken = range []string{"the authenticator's error", "the error of Authorize"} {
			require.Equal(t, http.StatusServiceUnavailable, send().Code, "%s: %s", service, h.broken)
		}
		h.broken = ""
	}
	require.Contains(t, logged.String(), `level=ERROR msg="a hook panicked"`)
}

// What is plugged into the services is no different: 503 if the answer was needed.
func TestPanicsOfServices(t *testing.T) {
	h := &panickyHost{value: "the plan"}
	requireStatus := func(status int, w *httptest.ResponseRecorder) {
		t.Helper()
		require.Equal(t, status, w.Code, w.Body.String())
		require.NotContains(t, w.Body.String(), "the plan")
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))

	triggers := newRig(t, nil)
	service, err := trigger.New(trigger.Backend{Store: triggers.store, Queue: triggers.queue, Directory: panickyDirectory{h}}, &trigger.Options{Env: mortise.Env{Logger: quiet, Observer: func(context.Context, mortise.Observation) { h.call("Observer") }}})
	require.NoError(t, err)
	mounted, err := httpadapter.NewTrigger(service, h, nil)
	require.NoError(t, err)
	submit := func() *httptest.ResponseRecorder { return triggerRequests("")[0].send(mounted, "") }
	for broken, status := range map[string]int{"": http.StatusAccepted, "Observer": http.StatusAccepted, "Directory": http.StatusServiceUnavailable} {
		h.broken = broken
		requireStatus(status, submit())
	}

	h.broken = ""
	credentials := newAuthRig(t, nil, &authmgmt.Options{Admit: func(context.Context, authmgmt.Invitation, mortise.Actor) error {
		h.call("Admit")
		return nil
	}})
	i := credentials.invitation("acme", "i1", access.Role{ID: "viewer"})
	h.broken = "Admit"
	accept := strings.TrimPrefix(credentials.url(&i), "https://app.example.com")
	requireStatus(http.StatusServiceUnavailable, credentials.as("", "POST", accept, ""))
	h.broken = ""
	requireStatus(http.StatusOK, credentials.as("", "POST", accept, ""))

	values := newVaultRig(t, nil, &vault.Options{Tokenizer: &panickyTokenizer{h: h}, Env: mortise.Env{Logger: quiet}})
	for broken, status := range map[string]int{"": http.StatusOK, "Token": http.StatusServiceUnavailable} {
		h.broken = broken
		requireStatus(status, values.post("/v1/vaults/v1/persons", `{"records":[{"fields":{"name":"Ada `+broken+`"}}]}`))
	}

	h.broken = ""
	sounds := newSoundRig(t, nil, nil)
	for broken, status := range map[string]int{"": http.StatusOK, "Observer": http.StatusOK, "Model": http.StatusServiceUnavailable} {
		queue := sounds.db.Queue(&leases.Options{Logger: quiet})
		searches, err := audiosearch.New(audiosearch.Backend{Store: sounds.store, Queue: queue}, &audiosearch.Options{
			Scorers: []sound.Scorer{panickyScorer{sounds.scorer, h}}, Env: mortise.Env{Logger: quiet, Observer: func(context.Context, mortise.Observation) { h.call("Observer") }},
		})
		require.NoError(t, err)
		sounds.handler, err = httpadapter.NewAudioSearch(searches, h, nil)
		require.NoError(t, err)
		h.broken = broken
		requireStatus(status, sounds.post(aSearch("")))
	}
}

type panickyDirectory struct{ h *panickyHost }

func (d panickyDirectory) Setup(context.Context, string) (trigger.Organization, error) {
	d.h.call("Directory")
	o := trigger.Organization{ID: "acme", SetupComplete: true}
	o.SetCollection(readyCollection, true)
	return o, nil
}

type panickyTokenizer struct {
	format.Standard
	h *panickyHost
}

func (t *panickyTokenizer) Tokens(ctx context.Context, requests []format.Request) ([]format.Result, error) {
	t.h.call("Token")
	return t.Standard.Tokens(ctx, requests)
}

type panickyScorer struct {
	sound.Scorer
	h *panickyHost
}

func (s panickyScorer) Model(ctx context.Context) (sound.Model, error) {
	s.h.call("Model")
	return s.Scorer.Model(ctx)
}
