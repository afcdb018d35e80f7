package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// matrixRig has all four services over one storage and behind one address, and callers of
// all kinds. What is asked for belongs to the organization acme.
type matrixRig struct {
	t       *testing.T
	trigger *trigger.Service
	auth    *authmgmt.Service
	vault   *vault.Service
	audio   *audiosearch.Service
	handler http.Handler
	routes  []httpadapter.Route
	tokens  map[string]string // by caller
	made    int
}

// matrixStores is what a storage has for the four services.
type matrixStores struct {
	trigger interface {
		trigger.Store
		trigger.APIKeys
		trigger.Organizations
	}
	triggerQueue mortise.Queue
	auth         interface {
		authmgmt.Store
		authmgmt.Organizations
	}
	vault      vault.Store
	audio      audiosearch.Store
	audioQueue mortise.Queue
}

// matrixStorages are those that must answer alike.
var matrixStorages = map[string]func(*testing.T) matrixStores{
	"memory": func(t *testing.T) matrixStores {
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		return matrixStores{db.Trigger().Store.(*memory.Trigger), db.Queue(nil), db.AuthMgmt().Store.(*memory.AuthMgmt), db.Vault().Store,
			db.AudioSearch().Store, db.Queue(nil)}
	},
	"SQLite": func(t *testing.T) matrixStores {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "matrix.db"), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return matrixStores{db.Trigger().Store.(*sqlite.Trigger), db.Queue(nil), db.AuthMgmt().Store.(*sqlite.AuthMgmt), db.Vault().Store,
			db.AudioSearch().Store, db.Queue(nil)}
	},
}

// matrixScorer has a model. Nothing is scored.
type matrixScorer struct{}

func (matrixScorer) Model(context.Context) (sound.Model, error) {
	return sound.Model{
		ID: "matrix/1", Family: "matrix", SampleRate: 16000, Window: 10 * time.Second, Hop: 2 * time.Second,
		Classes: []sound.Class{"Silence"},
	}, nil
}

func (matrixScorer) Score(context.Context, [][]float32) ([]sound.Scores, error) {
	return nil, errors.New("there is nothing to score")
}

const matrixAcceptURL = "https://api.example.com" + httpadapter.AcceptPath

func newMatrixRig(t *testing.T, stores matrixStores) *matrixRig {
	t.Helper()
	r := &matrixRig{t: t, tokens: make(map[string]string)}
	quiet := slog.New(slog.DiscardHandler)
	key := []byte("not random, and nobody's key !?>")
	invitationKey, err := authmgmt.NewInvitationKey(key)
	require.NoError(t, err)
	root, err := localkeys.NewRoot(key)
	require.NoError(t, err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(t, err)

	r.trigger, err = trigger.New(trigger.Backend{Store: stores.trigger, Queue: stores.triggerQueue, Keys: stores.trigger}, &trigger.Options{Logger: quiet})
	require.NoError(t, err)
	r.auth, err = authmgmt.New(authmgmt.Backend{Store: stores.auth, Directory: stores.auth}, &authmgmt.Options{
		AcceptURL: matrixAcceptURL, InvitationKey: invitationKey, Logger: quiet,
	})
	require.NoError(t, err)
	r.vault, err = vault.New(vault.Backend{Store: stores.vault}, keyring, nil)
	require.NoError(t, err)
	r.audio, err = audiosearch.New(audiosearch.Backend{Store: stores.audio, Queue: stores.audioQueue}, &audiosearch.Options{Scorers: []sound.Scorer{matrixScorer{}}, Logger: quiet})
	require.NoError(t, err)

	r.mount()
	r.callers()
	_, err = r.vault.CreateVault(t.Context(), "acme", "setup", "v1", vault.Schema{Tables: []vault.Table{{
		Name: "persons", Columns: []vault.Column{{Name: "name", Tokenization: vault.Deterministic, Mask: "1*1"}},
	}}})
	require.NoError(t, err)
	_, err = r.audio.CreateDataset(t.Context(), "acme", "", "d1")
	require.NoError(t, err)
	return r
}

// mount mounts everything that there is. The triggers take API keys and access tokens, as
// a host may have it.
func (r *matrixRig) mount() {
	t := r.t
	options := httpadapter.Options{Logger: slog.New(slog.DiscardHandler)}
	accessTokens, keys := httpadapter.AccessTokens(r.auth), httpadapter.TriggerKeys(r.trigger)
	either := func(ctx context.Context, token string) (httpadapter.Principal, error) {
		p, err := keys(ctx, token)
		if errors.Is(err, httpadapter.ErrUnauthenticated) {
			return accessTokens(ctx, token)
		}
		return p, err
	}
	triggers, err := httpadapter.NewTrigger(r.trigger, httpadapter.Bearer(either), &httpadapter.TriggerOptions{Options: options, History: true})
	require.NoError(t, err)
	credentials, err := httpadapter.NewAuthMgmt(r.auth, httpadapter.Bearer(accessTokens), &httpadapter.AuthMgmtOptions{
		Options: options, Clients: true, Invitations: true, Tokens: true, AcceptPage: true, Login: true,
	})
	require.NoError(t, err)
	vaults, err := httpadapter.NewVault(r.vault, httpadapter.Bearer(accessTokens), &httpadapter.VaultOptions{
		Options: options, Insert: true, Detokenize: true, Delete: true,
	})
	require.NoError(t, err)
	sounds, err := httpadapter.NewAudioSearch(r.audio, httpadapter.Bearer(accessTokens), &httpadapter.AudioSearchOptions{Options: options, Cancel: true})
	require.NoError(t, err)
	for _, h := range []*httpadapter.Handler{triggers, credentials, vaults, sounds} {
		r.routes = append(r.routes, h.Routes()...)
	}
	r.handler, err = httpadapter.Join("", triggers, credentials, vaults, sounds)
	require.NoError(t, err)
}

// matrixCallers are the columns of the matrix: the roles of those that have an access
// token of acme, nil for full access.
var matrixCallers = []struct {
	name  string
	roles []access.Role
}{
	{"none", nil}, {"garbage", nil}, {"key", nil}, {"revoked", nil}, {"expired", nil},
	{"viewer", []access.Role{{ID: "viewer"}}},
	{"viewer/d1", []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}}},
	{"editor", []access.Role{{ID: "editor"}}},
	{"admin/trig", []access.Role{{ID: "admin", Resource: "trigger"}}},
	{"admin/vault", []access.Role{{ID: "admin", Resource: "vault"}}},
	{"admin/d1", []access.Role{{ID: "admin", Resource: "dataset", ResourceInstance: "d1"}}},
	{"admin/client", []access.Role{{ID: "admin", Resource: "client"}}},
	{"admin/invite", []access.Role{{ID: "admin", Resource: "invitation"}}},
	{"admin", []access.Role{{ID: "admin"}}},
	{"full", nil}, {"rival", nil},
	{"rival/admin", []access.Role{{ID: "admin"}}},
}

// callers makes the credentials of all callers.
func (r *matrixRig) callers() {
	t := r.t
	for _, org := range []string{"acme", "rival"} {
		require.NoError(t, r.auth.SetRBAC(t.Context(), org, operator, true))
	}
	for _, c := range matrixCallers {
		org, lifetime := "acme", time.Duration(authmgmt.NoExpiry)
		if strings.HasPrefix(c.name, "rival") {
			org = "rival"
		}
		if c.name == "expired" {
			lifetime = time.Microsecond
		}
		token, text, err := r.auth.IssueToken(t.Context(), org, operator, authmgmt.NewToken{
			Subject: c.name, Roles: c.roles, FullAccess: c.roles == nil, Lifetime: lifetime,
		})
		require.NoError(t, err)
		r.tokens[c.name] = text.Reveal()
		switch c.name {
		case "none":
			r.tokens[c.name] = ""
		case "garbage":
			r.tokens[c.name] = "at-garbage"
		case "key":
			_, key, err := r.trigger.IssueKey(t.Context(), "acme", "", "matrix")
			require.NoError(t, err)
			r.tokens[c.name] = key.Reveal()
		case "revoked":
			require.NoError(t, r.auth.RevokeToken(t.Context(), org, operator, token.ID))
		}
	}
}

// send sends a request of a caller and returns the status.
func (r *matrixRig) send(caller, method, path, body string) int {
	r.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if token := r.tokens[caller]; token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w.Code
}

// next is a name that nothing has yet.
func (r *matrixRig) next() string {
	r.made++
	return fmt.Sprintf("n%d", r.made)
}

// event submits a trigger and returns its ID.
func (r *matrixRig) event() string {
	e, err := r.trigger.Submit(r.t.Context(), "acme", "", trigger.Submission{Instructions: "Describe it."})
	require.NoError(r.t, err)
	return e.ID.String()
}

// client makes a client and returns its ID.
func (r *matrixRig) client(roles ...access.Role) string {
	c, _, err := r.auth.CreateClient(r.t.Context(), "acme", operator, authmgmt.NewClient{Name: "n", Roles: roles, FullAccess: len(roles) == 0})
	require.NoError(r.t, err)
	return c.ID
}

// invitation makes an invitation and returns its ID.
func (r *matrixRig) invitation(roles ...access.Role) authmgmt.Invitation {
	i, err := r.auth.Invite(r.t.Context(), "acme", operator, authmgmt.NewInvitation{
		Email: r.next() + "@example.com", Name: "Ada", Roles: roles, FullAccess: len(roles) == 0,
	})
	require.NoError(r.t, err)
	return i
}

// token makes an access token and returns its ID.
func (r *matrixRig) token(roles ...access.Role) string {
	token, _, err := r.auth.IssueToken(r.t.Context(), "acme", operator, authmgmt.NewToken{
		ID: uuid.New(), Subject: "somebody", Roles: roles, FullAccess: len(roles) == 0,
	})
	require.NoError(r.t, err)
	return token.ID.String()
}

// value puts a value into the vault and returns it with its token.
func (r *matrixRig) value() (value, token string) {
	value = r.next()
	tokens, err := r.vault.Insert(r.t.Context(), "acme", "setup", "v1",
		[]vault.Item{{Place: vault.InColumn("persons", "name"), Value: vault.NewValue(value)}})
	require.NoError(r.t, err)
	return value, tokens[0]
}

// run starts a search and returns its ID.
func (r *matrixRig) run() string {
	run, err := r.audio.Start(r.t.Context(), "acme", "setup", audiosearch.Query{Dataset: "d1", Class: "Silence", Limit: 1})
	require.NoError(r.t, err)
	return fmt.Sprint(run.ID)
}
