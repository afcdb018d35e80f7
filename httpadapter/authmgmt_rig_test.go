package httpadapter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

const (
	clients     = "/api/v1/auth-management/clients"
	invitations = "/api/v1/auth-management/user-invitations"
	issued      = "/api/v1/auth-management/tokens"
	login       = "/api/v0/login"
	acceptURL   = "https://app.example.com/api/v1/auth-management/accept-invitation/"
)

// everyAuthOption mounts all that there is.
var everyAuthOption = httpadapter.AuthMgmtOptions{Clients: true, Invitations: true, Tokens: true, AcceptPage: true, Login: true}

// authRig is a credentials service on memory behind the adapter and a real server, with
// callers of all kinds.
type authRig struct {
	faultyMethods
	t        *testing.T
	store    authmgmt.Store
	service  *authmgmt.Service
	handler  *httpadapter.Handler
	server   *httptest.Server
	log      *lockedBuffer
	seen     *lockedObserver
	tokens   map[string]string // access tokens by the caller's name
	since    atomic.Int64      // how far the clock has gone on from begin
	opts     authmgmt.Options  // as the service was made with
	bodySeen [][]byte          // every answer
}

// lockedBuffer is written by the server and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type lockedObserver struct {
	mu   sync.Mutex
	list []httpadapter.RequestObservation
}

func (o *lockedObserver) observe(_ context.Context, r httpadapter.RequestObservation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, r)
}

// faultyMethods are methods of a store that fail.
type faultyMethods struct {
	mu     sync.Mutex
	broken map[string]error // by their names
}

// before is the Before hook of the store's faults. It takes the name of a method, too.
func (f *faultyMethods) before(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken[op[strings.LastIndexByte(op, '.')+1:]]
}

// faults makes methods of the store fail, or all work again.
func (f *faultyMethods) faults(methods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = make(map[string]error)
	for _, method := range methods {
		f.broken[method] = errors.New(method + ": connection refused")
	}
}

// callers are the access tokens that a rig begins with. All but the rival are of the
// organization acme.
var callers = map[string][]access.Role{
	"full":         nil,
	"rival":        nil, // full access to another organization
	"admin":        {{ID: "admin"}},
	"editor":       {{ID: "editor"}},
	"viewer":       {{ID: "viewer"}},
	"bound admin":  {{ID: "admin", Resource: "dataset", ResourceInstance: "d1"}},
	"client admin": {{ID: "admin", Resource: "client"}},
	"invite admin": {{ID: "admin", Resource: "invitation"}},
	"both admins":  {{ID: "admin", Resource: "client"}, {ID: "viewer"}},
}

func newAuthRig(t *testing.T, opts *httpadapter.AuthMgmtOptions, service *authmgmt.Options) *authRig {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r := &authRig{t: t, log: new(lockedBuffer), seen: new(lockedObserver), tokens: make(map[string]string)}
	faults, backend := &authmgmttest.Faults{Before: r.before}, db.AuthMgmt()
	r.store = faults.Store(backend.Store)
	logger := slog.New(slog.NewJSONHandler(r.log, nil))
	if service != nil {
		r.opts = *service
	}
	r.opts.AcceptURL, r.opts.InvitationKey, r.opts.Logger = acceptURL, testKey(t), logger
	r.opts.Now = func() time.Time { return begin.Add(time.Duration(r.since.Load())) }
	r.service, err = authmgmt.New(authmgmt.Backend{Store: r.store, Directory: faults.Directory(backend.Directory)}, &r.opts)
	require.NoError(t, err)
	for _, org := range []string{"acme", "rival"} {
		require.NoError(t, r.service.SetRBAC(t.Context(), org, root, true))
	}
	for name, roles := range callers {
		org := "acme"
		if name == "rival" {
			org = "rival"
		}
		_, token, err := r.service.IssueToken(t.Context(), org, root, authmgmt.NewToken{
			Subject: "person:" + name, Roles: roles, FullAccess: len(roles) == 0, Lifetime: authmgmt.NoExpiry,
		})
		require.NoError(t, err)
		r.tokens[name] = token.Reveal()
	}
	if opts == nil {
		all := everyAuthOption
		opts = &all
	}
	opts.Logger, opts.Observer = logger, r.seen.observe
	r.handler, err = httpadapter.NewAuthMgmt(r.service, httpadapter.Bearer(httpadapter.AccessTokens(r.service)), opts)
	require.NoError(t, err)
	r.server = httptest.NewServer(r.handler)
	t.Cleanup(r.server.Close)
	return r
}

// testKey is not random, and nobody's.
func testKey(t *testing.T) authmgmt.InvitationKey {
	t.Helper()
	key, err := authmgmt.NewInvitationKey([]byte("not random, and nobody's key !?>"))
	require.NoError(t, err)
	return key
}

// link returns the token of an invitation's link.
func (r *authRig) link(i *authmgmt.Invitation) string {
	r.t.Helper()
	token, err := r.service.LinkToken(r.t.Context(), i)
	require.NoError(r.t, err)
	return token.Reveal()
}

// url returns an invitation's link.
func (r *authRig) url(i *authmgmt.Invitation) string { return acceptURL + r.link(i) }

// begin is the time at which a rig begins.
var begin = time.Date(2026, 1, 17, 9, 12, 45, 123456000, time.UTC)

func (r *authRig) advance(d time.Duration) { r.since.Add(int64(d)) }

// root is who sets things up.
var root = authmgmt.Caller{Actor: "operator", Access: access.Full()}

// as sends a request of a caller over the network, and returns the answer as a recorder
// has it.
func (r *authRig) as(caller, method, target, body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	r.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.server.URL+target, reader)
	require.NoError(r.t, err)
	if caller != "" {
		req.Header.Set("Authorization", "Bearer "+r.tokens[caller])
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range edits {
		edit(req)
	}
	client := *r.server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	w := httptest.NewRecorder()
	maps.Copy(w.Header(), resp.Header)
	w.Header().Del("Date")
	w.Header().Del("Content-Length") // the server's own, and not there for what is long
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(content)
	r.bodySeen = append(r.bodySeen, content)
	return w
}

// client makes a client that is described elsewhere, and returns its secret.
func (r *authRig) client(org, id string, roles ...access.Role) (secret string) {
	r.t.Helper()
	secret = "cs-" + org + "-" + id + "-" + strings.Repeat("0123456789", 4)
	_, err := r.service.ImportClient(r.t.Context(), org, root, authmgmt.NewClient{ID: id, Name: "Client " + strings.ReplaceAll(id, "\u202e", ""), Roles: roles, FullAccess: len(roles) == 0}, secret)
	require.NoError(r.t, err)
	return secret
}

// invitation makes one with a chosen ID.
func (r *authRig) invitation(org, id string, roles ...access.Role) authmgmt.Invitation {
	r.t.Helper()
	i, err := r.service.ImportInvitation(r.t.Context(), org, root, authmgmt.NewInvitation{
		ID: id, Inviter: "Grace", Email: id + "@example.com", Name: "Ada", Roles: roles, FullAccess: len(roles) == 0,
	})
	require.NoError(r.t, err)
	return i
}

// token makes an access token that stands for itself, with an ID by name: see tokenID.
func (r *authRig) token(org, name string, roles ...access.Role) string {
	r.t.Helper()
	_, text, err := r.service.IssueToken(r.t.Context(), org, root, authmgmt.NewToken{
		ID: tokenID(name), Subject: name + "@example.com", Roles: roles, FullAccess: len(roles) == 0,
	})
	require.NoError(r.t, err)
	return text.Reveal()
}

// tokenID is the ID of the token with a name.
func tokenID(name string) uuid.UUID { return uuid.NewSHA1(uuid.Nil, []byte(name)) }

// roles returns what a client has now.
func (r *authRig) roles(org, id string) []access.Role {
	r.t.Helper()
	c, err := r.service.Client(r.t.Context(), org, id)
	require.NoError(r.t, err)
	return c.Roles
}

// requireDetail checks an error body of one text, and returns the text.
func requireDetail(t *testing.T, w *httptest.ResponseRecorder, status int) string {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var answer map[string]string
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
	require.Len(t, answer, 1)
	require.NotEmpty(t, answer["detail"])
	return answer["detail"]
}

func requireBody(t *testing.T, w *httptest.ResponseRecorder, status int, want string) {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, want, w.Body.String())
}

// panicking is a store that panics.
type panicking struct{ authmgmt.Store }

func (panicking) Invitation(context.Context, string, string) (authmgmt.Invitation, error) {
	panic("the disk is gone")
}

// mounted is everything, over another service.
func mounted(t *testing.T, s *authmgmt.Service) http.Handler {
	t.Helper()
	all := everyAuthOption
	h, err := httpadapter.NewAuthMgmt(s, httpadapter.Bearer(httpadapter.AccessTokens(s)), &all)
	require.NoError(t, err)
	return h
}
