package gold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/provision"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// database is what every storage opens.
type database interface {
	Trigger() trigger.Backend
	AuthMgmt() authmgmt.Backend
	Vault() vault.Backend
	AudioSearch() audiosearch.Backend
}

// made counts schemas and databases of PostgreSQL.
var made atomic.Int64

// storages must all answer alike. The first one is recorded.
var storages = []struct {
	name string
	open func(t *testing.T) database
}{
	{"memory", func(t *testing.T) database {
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		return db
	}},
	{"SQLite", func(t *testing.T) database {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "gold.db"), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}},
	{"PostgreSQL", func(t *testing.T) database {
		pool, err := pgxpool.New(t.Context(), pgserver.Shared(t).DSN("postgres"))
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		opts := &postgres.Options{Schema: fmt.Sprint("gold_", made.Add(1)), Logger: quiet}
		require.NoError(t, pool.AcquireFunc(t.Context(), func(c *pgxpool.Conn) error {
			return postgres.Migrate(t.Context(), c.Conn(), opts)
		}))
		db, err := postgres.New(t.Context(), pool, opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}},
}

var quiet = slog.New(slog.DiscardHandler)

const acceptURL = "https://api.example.com" + httpadapter.AcceptPath

var operator = authmgmt.Caller{Actor: "operator", Access: access.Full()}

// services are the four over one storage.
type services struct {
	trigger *trigger.Service
	auth    *authmgmt.Service
	store   authmgmt.Store
	vault   *vault.Service
	audio   *audiosearch.Service
}

// backs is what services stand on.
type backs struct {
	trigger trigger.Backend
	auth    authmgmt.Backend
	vault   vault.Backend
	audio   audiosearch.Backend
}

func backsOf(db database) backs {
	triggers := db.Trigger()
	triggers.Directory = triggers.Store.(trigger.Organizations)
	return backs{triggers, db.AuthMgmt(), db.Vault(), db.AudioSearch()}
}

// world is what services have besides a storage.
type world struct {
	clock      mortise.ManualClock
	log        *slog.Logger
	maxWaiting int // searches
	gate       gate
	files      sound.Files
	admit      atomic.Bool // refuses
	grant      atomic.Bool // fails
	spoil      atomic.Bool // what is sealed in the vault
}

func (w *world) services(b backs) (*services, error) {
	key := []byte("not random, and nobody's key !?>")
	invitationKey, keyErr := authmgmt.NewInvitationKey(key)
	root, rootErr := localkeys.NewRoot(key)
	keys, ringErr := localkeys.New(localkeys.Key{Version: 1, Root: root})
	if err := errors.Join(keyErr, rootErr, ringErr); err != nil {
		return nil, err
	}
	s := &services{store: b.auth.Store}
	var errs [4]error
	s.trigger, errs[0] = trigger.New(b.trigger, &trigger.Options{Env: mortise.Env{Now: w.clock.Now, Logger: w.log}, MaxBytes: 2048})
	s.auth, errs[1] = authmgmt.New(b.auth, &authmgmt.Options{
		AcceptURL: acceptURL, InvitationKey: invitationKey, Env: mortise.Env{Now: w.clock.Now, Logger: w.log},
		Admit: func(context.Context, authmgmt.Invitation, mortise.Actor) error {
			if w.admit.Load() {
				return authmgmt.ErrForbidden
			}
			return nil
		},
		Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
			if w.grant.Load() {
				return mortise.Secret{}, errors.New("the grant is away")
			}
			return mortise.NewSecret("shown once"), nil
		},
	})
	s.vault, errs[2] = vault.New(b.vault, spoiling{keys, &w.spoil}, &vault.Options{
		Env: mortise.Env{Now: w.clock.Now, Logger: w.log}, MaxItems: 5, MaxValue: 100, MaxShown: 150,
	})
	s.audio, errs[3] = audiosearch.New(b.audio, &audiosearch.Options{
		Scorers: []sound.Scorer{&scorer{gate: &w.gate}}, Media: wav.Media{}, Files: w.files, Moderate: moderate,
		MaxFilters: 3, MaxLimit: 50, MaxWaiting: w.maxWaiting, Ingesting: 1, Env: mortise.Env{Now: w.clock.Now, Logger: w.log},
	})
	return s, errors.Join(errs[:]...)
}

// spoiling is a keyring that may seal so that nothing opens.
type spoiling struct {
	keyring.Keyring
	spoil *atomic.Bool
}

func (k spoiling) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	results, err := k.Keyring.Seal(ctx, items)
	if k.spoil.Load() {
		for _, r := range results {
			r.Sealed.Ciphertext[0] ^= 1
		}
	}
	return results, err
}

// rig has all four services over one storage, mounted in several ways behind a server.
type rig struct {
	t *testing.T
	world
	*services
	backs  backs
	full   []*httpadapter.Handler  // with all that there is
	few    []*httpadapter.Handler  // with the least that there is
	mounts map[string]http.Handler // by prefix
	server *httptest.Server
	logged output
	work   func() // until nothing is due

	patterns   *http.ServeMux    // of the operations
	operations map[string]string // their IDs by pattern
}

// newRig makes a rig with what a provisioning document says, "" for nothing. So many
// searches may wait.
func newRig(t *testing.T, db database, document string, maxWaiting int) *rig {
	t.Helper()
	r := &rig{t: t, backs: backsOf(db)}
	r.maxWaiting = maxWaiting
	r.log = slog.New(slog.NewJSONHandler(&r.logged, nil))
	r.clock.Advance(123456 * time.Microsecond) // so that times have all their digits
	r.gate.entered, r.gate.leave = make(chan struct{}), make(chan struct{})
	dir := t.TempDir()
	writeSounds(t, dir)
	files, err := folder.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	r.files = files
	r.services, err = r.world.services(r.backs)
	require.NoError(t, err)
	if document != "" {
		doc, err := provision.Parse(filepath.Join(dir, "world.json"), []byte(document), nil)
		require.NoError(t, err)
		require.NoError(t, doc.Apply(t.Context(), r.provisioned(), r.world.empty))
	}
	r.workers()

	r.mounts = make(map[string]http.Handler) // not a ServeMux: it would redirect unclean paths
	options := httpadapter.Options{MaxBody: 4096, Logger: r.log}
	join := func(prefix string, handlers []*httpadapter.Handler) {
		joined, err := httpadapter.Join(prefix, handlers...)
		require.NoError(t, err)
		r.mounts[prefix] = joined
	}
	r.full = mount(t, r.services, options, true)
	join("", r.full)

	r.few = mount(t, r.services, httpadapter.Options{Credential: "session token", Logger: r.log}, false)
	join("/few", r.few)

	hasty := options
	hasty.BodyTimeout = 10 * time.Millisecond
	join("/hasty", mount(t, r.services, hasty, true))

	strict := options
	strict.Authorize = policy
	join("/policy", mount(t, r.services, strict, true))

	for prefix, err := range map[string]error{
		"/away": errAway, "/corrupt": keyring.ErrCorrupt, "/vault-full": vault.ErrFull,
	} {
		join(prefix, mount(t, r.failing(db, err), options, true))
	}
	join("/noqueue", mount(t, r.noQueue(db), options, true))

	r.patterns, r.operations = http.NewServeMux(), make(map[string]string)
	for _, h := range r.full {
		for _, route := range h.Routes() {
			pattern := route.Method + " " + route.Pattern
			r.patterns.Handle(pattern, h)
			r.operations[pattern] = route.ID
		}
	}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
		if h, ok := r.mounts["/"+first]; ok {
			h.ServeHTTP(w, req)
			return
		}
		r.mounts[""].ServeHTTP(w, req)
	}))
	t.Cleanup(r.server.Close)
	return r
}

// provisioned are the services that documents are applied to.
func (s *services) provisioned() *provision.Services {
	return &provision.Services{
		Trigger: s.trigger, AuthMgmt: s.auth, Credentials: s.store, Vault: s.vault, AudioSearch: s.audio, Logger: quiet,
	}
}

// empty is a [provision.Empty].
func (w *world) empty(ctx context.Context, do func(*provision.Services) error) error {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return err
	}
	s, err := w.services(backsOf(db))
	if err != nil {
		return err
	}
	return do(s.provisioned())
}

var errAway = errors.New("the store is away")

// failing are services whose stores answer everything with an error, or all that is asked
// of a vault's tokens if the error is one of vaults.
func (r *rig) failing(db database, failure error) *services {
	b := backsOf(db)
	var broken atomic.Bool
	fail := func(string) error {
		if broken.Load() {
			return failure
		}
		return nil
	}
	if failure == errAway {
		b.trigger.Store = (&triggertest.Faults{Before: fail}).Store(b.trigger.Store)
		b.trigger.Queue = (&triggertest.Faults{Before: fail}).Queue(b.trigger.Queue)
		b.auth.Store = (&authmgmttest.Faults{Before: fail}).Store(b.auth.Store)
		b.vault.Store = (&vaulttest.Faults{Before: fail}).Store(b.vault.Store)
		b.audio.Store = (&audiosearchtest.Faults{Before: fail}).Store(b.audio.Store)
	} else {
		b.vault.Store = (&vaulttest.Faults{Before: vaulttest.On(fail, "Tokens")}).Store(b.vault.Store)
	}
	s, err := r.world.services(b)
	require.NoError(r.t, err)
	broken.Store(true)
	return s
}

// noQueue are services whose queues take no job.
func (r *rig) noQueue(db database) *services {
	b := backsOf(db)
	away := func(string) error { return errors.New("the queue is away") }
	fail := &triggertest.Faults{Before: triggertest.On(away, "Queue.Enqueue")}
	// The queue is apart from the store, so that it can fail alone.
	b.trigger.Queue = struct{ mortise.Queue }{fail.Queue(b.trigger.Queue)}
	b.audio.Queue = struct{ mortise.Queue }{fail.Queue(b.audio.Queue)}
	s, err := r.world.services(b)
	require.NoError(r.t, err)
	return s
}

// policy is a host's that asks no roles: nobody may submit a trigger, and values are
// masked at most.
func policy(_ context.Context, p httpadapter.Principal, a access.Action, _ access.Resource) error {
	switch {
	case p.Subject == "viewer":
		return errors.New("the policy is away")
	case a == access.SubmitTrigger, a == access.Reveal:
		return httpadapter.ErrForbidden
	}
	return nil
}

// mount mounts everything that there is, or the least. The triggers take API keys and
// access tokens, as a host may have it, and the actions on many of them access tokens alone.
func mount(t *testing.T, s *services, options httpadapter.Options, all bool) []*httpadapter.Handler {
	t.Helper()
	special := httpadapter.Bearer(func(_ context.Context, token string) (httpadapter.Principal, error) {
		switch token {
		case "at-broken":
			return httpadapter.Principal{}, errors.New("the authenticator is away")
		case "at-hurried":
			return httpadapter.Principal{}, &httpadapter.RateLimitError{RetryAfter: 1500 * time.Millisecond}
		case "at-banned":
			return httpadapter.Principal{}, httpadapter.ErrForbidden
		case "at-vouched": // the host knows an organization that is deleted
			return httpadapter.Principal{Organization: "gone", Subject: "vouched", Access: access.Full()}, nil
		}
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	})
	tokens := httpadapter.FirstOf(special, httpadapter.Bearer(httpadapter.AccessTokens(s.auth)))
	keys := httpadapter.FirstOf(special, httpadapter.Bearer(httpadapter.TriggerKeys(s.trigger)), tokens)
	limit, err := httpadapter.NewCallerLimit(0.001)
	require.NoError(t, err)
	triggers, err := httpadapter.NewTrigger(s.trigger, keys, &httpadapter.TriggerOptions{
		Options: options, History: all, Actions: all, NotBefore: all, CollectionField: all,
	})
	require.NoError(t, err)
	credentials, err := httpadapter.NewAuthMgmt(s.auth, tokens, &httpadapter.AuthMgmtOptions{
		Options: options, Clients: all, Invitations: all, Tokens: all, AcceptPage: all, Login: all, FailedLogins: 3,
	})
	require.NoError(t, err)
	vaultOptions := &httpadapter.VaultOptions{Options: options, Insert: all, Detokenize: all, Delete: all}
	values := tokens
	if !all {
		limited := limit.Around(tokens)
		values = httpadapter.AuthenticatorFunc(func(r *http.Request) (httpadapter.Principal, error) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/tokenize") {
				return limited.Authenticate(r)
			}
			return tokens.Authenticate(r)
		})
		vaultOptions.ProductionURL, vaultOptions.SandboxURL = "https://vault.example.com/v", "https://sandbox.example.com"
	}
	vaults, err := httpadapter.NewVault(s.vault, values, vaultOptions)
	require.NoError(t, err)
	searchOptions := &httpadapter.AudioSearchOptions{Options: options, Cancel: all, MinScore: all}
	if !all {
		searchOptions.Classes = []sound.Class{"Silence", "Beep", "Dentist's drill"}
	}
	sounds, err := httpadapter.NewAudioSearch(s.audio, tokens, searchOptions)
	require.NoError(t, err)
	handlers := []*httpadapter.Handler{triggers, credentials, vaults, sounds}
	if !all {
		return handlers
	}
	bulk, err := httpadapter.NewTriggerBulk(s.trigger, tokens, &options)
	require.NoError(t, err)
	return append(handlers, bulk)
}
