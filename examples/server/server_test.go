package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/provision"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// failing is a store that can be made to fail.
type failing struct {
	trigger.Store
	err error
}

func (f *failing) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	if f.err != nil {
		return trigger.Event{}, f.err
	}
	return f.Store.Event(ctx, org, id)
}

// testSettings are those of a server whose address is known.
func testSettings() *settings { return &settings{publicURL: "http://127.0.0.1:8080"} }

func testKey() localkeys.Root {
	key, err := localkeys.NewRoot(append([]byte{1}, make([]byte, 31)...))
	if err != nil {
		panic(err)
	}
	return key
}

func discard() *slog.Logger { return slog.New(slog.NewJSONHandler(io.Discard, nil)) }

func open(t *testing.T) (*services, *failing) {
	t.Helper()
	back := storages["SQLite"](t)
	store := &failing{Store: back.trigger.Store}
	back.trigger.Store = store
	s, err := wire(testSettings(), back, testKey(), discard())
	if err != nil {
		t.Fatal(err)
	}
	return s, store
}

func TestReadyOnlyWhileTheStoreAnswers(t *testing.T) {
	s, store := open(t)
	if len(s.others) != 1 {
		t.Fatal("nobody asks SQLite whether writes succeed")
	}
	var full atomic.Bool // asked by goroutines that an answer does not wait for
	s.others[0].Ping = func(context.Context) error {
		if full.Load() {
			return errors.New("disk full, host=db")
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	handler, err := routes(ctx, new(settings), s, discard())
	if err != nil {
		t.Fatal(err)
	}
	check := func(path string, want int) {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want || strings.Contains(w.Body.String(), "host=db") {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
	check("/readyz", http.StatusOK)
	store.err = errors.New("connection refused, host=db")
	check("/readyz", http.StatusServiceUnavailable)
	check("/healthz", http.StatusOK)
	store.err = nil
	check("/readyz", http.StatusOK)
	full.Store(true)
	check("/readyz", http.StatusServiceUnavailable)
	check("/healthz", http.StatusOK)
	full.Store(false)
	check("/readyz", http.StatusOK)
	cancel()
	check("/readyz", http.StatusServiceUnavailable)
	check("/healthz", http.StatusOK)
}

// TestDemoIsReadyOnceItIsThere: before that its key and its token have no organization.
func TestDemoIsReadyOnceItIsThere(t *testing.T) {
	settings := testSettings()
	settings.memory, settings.demo = true, newDemoCredentials()
	s, err := wire(settings, openStorageFor(t, settings), testKey(), discard())
	require.NoError(t, err)
	handler, err := routes(t.Context(), settings, s, discard())
	require.NoError(t, err)
	ready := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return w
	}
	w := ready()
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), `"away":"demo"`)
	require.NoError(t, startDemo(t.Context(), io.Discard, s, new(demoPage), discard()))
	require.Equal(t, http.StatusOK, ready().Code)
}

// TestReadyOnlyWhileTheTablesAreThere: every domain's, not only the ones that a service reads
// to say that it is there.
func TestReadyOnlyWhileTheTablesAreThere(t *testing.T) {
	for _, table := range []string{"authmgmt_tokens", "vault_fingerprints", "audiosearch_chunks", "trigger_bodies", "mortise_jobs"} {
		folder := t.TempDir()
		back, err := openSQLite(t.Context(), folder, 0, discard())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, back.close()) })
		s, err := wire(testSettings(), back, testKey(), discard())
		require.NoError(t, err)
		handler, err := routes(t.Context(), new(settings), s, discard())
		require.NoError(t, err)
		ready := func() int {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			return w.Code
		}
		require.Equal(t, http.StatusOK, ready())
		db, err := sql.Open("sqlite", filepath.Join(folder, databaseFile))
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "ALTER TABLE "+table+" RENAME TO x; CREATE VIEW "+table+" AS SELECT * FROM x")
		require.NoError(t, errors.Join(err, db.Close()))
		require.Equal(t, http.StatusServiceUnavailable, ready(), table)
	}
}

func TestLocalAddress(t *testing.T) {
	for address, want := range map[net.Addr]string{
		&net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 80}:                "http://10.1.2.3:80",
		&net.TCPAddr{IP: net.IPv4zero, Port: 80}:                         "http://127.0.0.1:80",
		&net.TCPAddr{IP: net.IPv6zero, Port: 80}:                         "http://127.0.0.1:80",
		&net.TCPAddr{IP: net.IPv6loopback, Port: 80}:                     "http://[::1]:80",
		&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 80, Zone: "eth0"}: "http://[fe80::1%25eth0]:80",
	} {
		got := localAddress(address)
		if _, err := url.Parse(got); got != want || err != nil {
			t.Errorf("got %s, want %s; %v", got, want, err)
		}
	}
}

// Who provisions, in the audit trails.
const provisioning = provision.Actor

var provisioner = authmgmt.Caller{Actor: provisioning, Access: access.Full()}

const docKey = "sk-acme-0123456789abcdef0123456789abcdef"

// readText reads a document and rehearses it, as the start of the program does.
func readText(t *testing.T, text string) (*provision.Document, error) {
	t.Helper()
	doc, err := provision.Parse("acme.json", []byte(text), nil)
	if err == nil {
		err = doc.Rehearse(t.Context(), inMemory)
	}
	return doc, ofConfig(err)
}

func apply(t *testing.T, s *services, text string) error {
	t.Helper()
	doc, err := readText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return applyDocument(t.Context(), s, doc, slog.New(warnings{s.site.log.Handler()}))
}

// warnings is a handler that is told of those alone.
type warnings struct{ slog.Handler }

func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func TestProvisioningFollowsTheDocument(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, _ *backends) { followsTheDocument(t, s) })
}

func followsTheDocument(t *testing.T, s *services) {
	document := func(setup, ready, revoked string) string {
		return `{"organizations":[{"id":"acme","setup_complete":` + setup + `,"api_keys":[{"key":"` + docKey + `","revoked":` + revoked +
			`}],"doc_collections":[{"id":"7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11","ready":` + ready + `}]}]}`
	}
	for _, step := range []struct {
		name, text string
		key, state error
	}{
		{"new", document("true", "true", "false"), nil, nil},
		{"again", document("true", "true", "false"), nil, nil},
		{"not ready", document("true", "false", "false"), nil, trigger.ErrNoEligibleCollection},
		{"not set up", document("false", "true", "false"), nil, trigger.ErrNotConfigured},
		{"revoked", document("true", "true", "true"), trigger.ErrInvalidKey, nil},
		{"not revived", document("true", "true", "false"), trigger.ErrInvalidKey, nil},
		{"nothing is removed", `{}`, trigger.ErrInvalidKey, nil},
	} {
		if err := apply(t, s, step.text); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if _, err := s.trigger.service.VerifyKey(t.Context(), docKey); !errors.Is(err, step.key) {
			t.Errorf("%s: the key: %v, want %v", step.name, err, step.key)
		}
		_, err := s.trigger.service.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "x"})
		if !errors.Is(err, step.state) {
			t.Errorf("%s: submit: %v, want %v", step.name, err, step.state)
		}
	}
}

// TestProvisioningRefusesForeignKey: a key of another organization stops the whole
// document, before anything is changed.
func TestProvisioningRefusesForeignKey(t *testing.T) {
	s, _ := open(t)
	if err := apply(t, s, `{"organizations":[{"id":"acme","api_keys":[{"key":"`+docKey+`"}]}]}`); err != nil {
		t.Fatal(err)
	}
	err := apply(t, s, `{"organizations":[{"id":"first","setup_complete":true},{"id":"evil","api_keys":[{"key":"`+docKey+`"}]}]}`)
	var usage *usageError
	if !errors.As(err, &usage) || strings.Contains(err.Error(), docKey) ||
		err.Error() != "-config: acme.json: line 1, column 81: organizations[1].api_keys[0]: this API key belongs to another organization" {
		t.Fatalf("got %v, want a usage error that says where", err)
	}
	// Had it been applied, the answer would be that no collection is ready.
	if _, err := s.trigger.service.Submit(t.Context(), "first", "", trigger.Submission{Instructions: "x"}); !errors.Is(err, trigger.ErrNotConfigured) {
		t.Errorf("half of the document was applied: %v", err)
	}
}
