package httpadapter_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/vault"
)

// panickyHost plugs in everything that a host can. What is named by broken panics.
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
	return httpadapter.Principal{Organization: "acme", Subject: "ada", Access: access.Full()}, nil
}

func (h *panickyHost) authorize(_ context.Context, _ httpadapter.Principal, action access.Action, _ access.Resource) error {
	if action == access.Reveal {
		h.call("Authorize reveal")
	} else {
		h.call("Authorize")
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

// A panic of a hook, http.ErrAbortHandler among them, goes on to the server, and the service
// works on. That of an Observer is logged with its stack and changes nothing.
func TestPanicsOfHooks(t *testing.T) {
	const all = "trigger authmgmt vault audiosearch"
	for broken, services := range map[string]string{
		"Authenticate": all, "Authorize": all, "Authorize reveal": "vault", "Redaction": "vault", "Wrap": all, "Observer": all,
	} {
		t.Run(broken, func(t *testing.T) {
			logged, h := new(lockedBuffer), new(panickyHost)
			for service, send := range h.mountAll(t, slog.New(slog.NewTextHandler(logged, nil))) {
				good := send()
				require.Less(t, good.Code, 300, "%s: %s", service, good.Body)
				if !strings.Contains(services, service) {
					continue
				}
				before := len(logged.String())
				for _, h.value = range []any{"the session of ada", http.ErrAbortHandler} {
					h.broken = broken
					if broken != "Observer" {
						require.PanicsWithValue(t, h.value, func() { send() }, service)
						continue
					}
					w := send()
					require.Equal(t, good.Code, w.Code, "%s: %s", service, w.Body)
					text := logged.String()[before:]
					require.Contains(t, text, `level=ERROR msg="a hook panicked"`, service)
					require.Contains(t, text, "panickyHost).call", "its stack")
					require.Contains(t, text, "request_id="+w.Header().Get("X-Request-Id"))
					require.NotContains(t, text+w.Body.String(), "session of ada")
				}
				h.broken = ""
				require.Equal(t, good.Code, send().Code, "it works on")
			}
		})
	}
}

// The bytes of a request count no more after a panic, which would be 40 MiB here.
func TestPanicGivesBytesBack(t *testing.T) {
	r, h := newRig(t, nil), &panickyHost{value: "boom"}
	handler, err := httpadapter.NewTrigger(r.service, h, &httpadapter.TriggerOptions{Options: h.options(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	send := func() int {
		req := httptest.NewRequest("POST", "/triggers", strings.NewReader(`{"instructions":"`+strings.Repeat("x", 1<<20-100)+`"}`))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w.Code
	}
	h.broken = "Authorize"
	for range 40 {
		require.Panics(t, func() { send() })
	}
	h.broken = ""
	require.Equal(t, http.StatusAccepted, send())
}
