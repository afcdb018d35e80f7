package httpadapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// Paths of the rig's vault.
const (
	v1         = "/v1/vaults/v1"
	tokenize   = v1 + "/tokenize"
	persons    = v1 + "/persons"
	detokenize = v1 + "/detokenize"
	tokens     = v1 + "/tokens/"
)

var everyVaultOption = httpadapter.VaultOptions{Insert: true, Detokenize: true, Delete: true}

// vaultRig is a vault service on memory behind the adapter, with callers of all kinds.
// The organizations acme and rival have each a vault v1 of the same schema, acme has v2,
// too.
type vaultRig struct {
	t       testing.TB
	store   *faultyVault
	service *vault.Service
	handler *httpadapter.Handler
	log     *lockedBuffer
	seen    *lockedObserver
	did     *vaultObservations
}

// vaultSchema has a column of each kind.
var vaultSchema = vault.Schema{Tables: []vault.Table{
	{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "email"},
		{Name: "name", Tokenization: vault.Deterministic, Mask: "1*1"},
		{Name: "card", Tokenization: vault.Deterministic, Format: "digits:luhn"},
		{Name: "note", Tokenization: vault.Random},
		{Name: "remark"},
	}},
	{Name: "customers", Columns: []vault.Column{{Name: "contact", Tokenization: vault.Deterministic, Group: "emails", Format: "email"}}},
}}

// vaultObservations are what the domain tells its observer.
type vaultObservations struct {
	mu   sync.Mutex
	list []mortise.Observation
}

func (o *vaultObservations) Observe(_ context.Context, one mortise.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, one)
}

// memoryVault has another name than its method Vault.
type memoryVault = memory.Vault

// faultyVault is memory whose methods fail on demand, by name, and for tokens that a
// database may not take for text.
type faultyVault struct {
	*memoryVault
	faultyMethods
}

func (f *faultyVault) Vault(ctx context.Context, org, id string) (vault.Vault, error) {
	if err := f.before("Vault"); err != nil {
		return vault.Vault{}, err
	}
	return f.memoryVault.Vault(ctx, org, id)
}

func (f *faultyVault) FindTokens(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
	if err := f.before("FindTokens"); err != nil {
		return nil, err
	}
	return f.memoryVault.FindTokens(ctx, org, id, revision, lookups)
}

func (f *faultyVault) InsertTokens(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
	if err := f.before("InsertTokens"); err != nil {
		return nil, err
	}
	return f.memoryVault.InsertTokens(ctx, org, id, revision, rows)
}

// Rows can also be made to return rows whose ciphertext was changed, by "tamper", or
// sealed under a key that is not loaded, by "strange key".
func (f *faultyVault) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	if err := f.before("Rows"); err != nil {
		return nil, err
	}
	for _, token := range tokens {
		if token != "" && name.Problem(token) != "" {
			return nil, errors.New("the token " + name.Problem(token))
		}
	}
	rows, err := f.memoryVault.Rows(ctx, org, id, tokens)
	for i := range rows {
		if f.before("tamper") != nil && rows[i].Token != "" {
			rows[i].Sealed.Ciphertext[0] ^= 1
		}
		if f.before("strange key") != nil {
			rows[i].Sealed.Version = 99
		}
	}
	return rows, err
}

func (f *faultyVault) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	if err := f.before("AddAuditEvent"); err != nil {
		return err
	}
	return f.memoryVault.AddAuditEvent(ctx, e)
}

func (f *faultyVault) DeleteToken(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
	if err := f.before("DeleteToken"); err != nil {
		return err
	}
	return f.memoryVault.DeleteToken(ctx, org, id, token, a)
}

func (r *vaultRig) faults(methods ...string) { r.store.faults(methods...) }

// vaultCallers are the access tokens that a rig knows. All but the rival are of the
// organization acme.
var vaultCallers = map[string]access.Access{
	"full":         access.Full(),
	"rival":        access.Full(),
	"none":         {},
	"admin":        roles(access.Role{ID: "admin"}),
	"editor":       roles(access.Role{ID: "editor"}),
	"viewer":       roles(access.Role{ID: "viewer"}),
	"vault editor": roles(access.Role{ID: "editor", Resource: "vault"}),
	"v1 admin":     roles(access.Role{ID: "admin", Resource: "vault", ResourceInstance: "v1"}),
	"v2 admin":     roles(access.Role{ID: "admin", Resource: "vault", ResourceInstance: "v2"}),
	"other admin":  roles(access.Role{ID: "admin", Resource: "dataset"}),
}

func roles(list ...access.Role) access.Access { return access.DefaultCatalogue().Access(list...) }

func verifyVaultCaller(_ context.Context, token string) (httpadapter.Principal, error) {
	name := strings.ReplaceAll(token, "-", " ")
	access, ok := vaultCallers[name]
	if !ok {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	p := httpadapter.Principal{Organization: "acme", Subject: "client:" + name, Access: access}
	if name == "rival" {
		p.Organization = "rival"
	}
	return p, nil
}

func newVaultRig(t testing.TB, opts *httpadapter.VaultOptions, service *vault.Options) *vaultRig {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r := &vaultRig{t: t, store: &faultyVault{memoryVault: db.Vault().Store.(*memory.Vault)}, log: new(lockedBuffer), seen: new(lockedObserver), did: new(vaultObservations)}
	key, err := localkeys.NewRoot([]byte("a root key of the tests, 32 byte"))
	require.NoError(t, err)
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: key})
	require.NoError(t, err)
	if service == nil {
		service = new(vault.Options)
	}
	service.Observer = r.did.Observe
	r.service, err = vault.New(vault.Backend{Store: r.store}, keyring, service)
	require.NoError(t, err)
	for _, v := range [][2]string{{"acme", "v1"}, {"acme", "v2"}, {"rival", "v1"}, {"rival", "theirs"}} {
		_, err = r.service.CreateVault(t.Context(), v[0], "operator", v[1], vaultSchema)
		require.NoError(t, err)
	}
	if opts == nil {
		all := everyVaultOption
		opts = &all
	}
	opts.Logger, opts.Observer = slog.New(slog.NewJSONHandler(r.log, nil)), r.seen.observe
	r.handler, err = httpadapter.NewVault(r.service, httpadapter.Bearer(verifyVaultCaller), opts)
	require.NoError(t, err)
	return r
}

// as sends a request of a caller.
func (r *vaultRig) as(caller, method, target, body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, target, reader)
	if caller != "" {
		req.Header.Set("Authorization", "Bearer "+strings.ReplaceAll(caller, " ", "-"))
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range edits {
		edit(req)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return w
}

func (r *vaultRig) post(target, body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	return r.as("full", http.MethodPost, target, body, edits...)
}

// insert stores a value and returns its token.
func (r *vaultRig) insert(org, id, table, column, value string) string {
	r.t.Helper()
	got, err := r.service.Insert(r.t.Context(), org, "operator", id,
		[]vault.Item{{Place: vault.InColumn(table, column), Value: vault.NewValue(value)}})
	require.NoError(r.t, err)
	return got[0]
}

// problemAt is the expected form of one detail. The index -1 stands for none.
type problemAt struct {
	index  int
	field  string
	reason string
}

// vaultAnswer is an error body of the vault service.
type vaultAnswer struct {
	GRPCCode   int              `json:"grpc_code"`
	HTTPCode   int              `json:"http_code"`
	HTTPStatus string           `json:"http_status"`
	Message    string           `json:"message"`
	Details    []map[string]any `json:"details"`
}

var grpcOf = map[int]int{400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 408: 4, 413: 8, 415: 3, 422: 9, 429: 8, 500: 13, 503: 14}

// requireProblems checks an error body: its fields, its codes, and just these details in
// this order. It returns the message.
func requireProblems(t testing.TB, w *httptest.ResponseRecorder, status int, want ...problemAt) string {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	requireRequestID(t, w)
	var raw map[string]map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &raw), w.Body.String())
	require.Len(t, raw, 1)
	require.Len(t, raw["error"], 5)
	var body struct{ Error vaultAnswer }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body), w.Body.String())
	e := body.Error
	require.Equal(t, []any{grpcOf[status], status, http.StatusText(status)}, []any{e.GRPCCode, e.HTTPCode, e.HTTPStatus})
	require.NotEmpty(t, e.Message)
	require.NotNil(t, e.Details, "details is always a list: %s", w.Body)
	var got []problemAt
	for _, d := range e.Details {
		one := problemAt{index: -1}
		for name, v := range d {
			switch name {
			case "index":
				one.index = int(v.(float64))
			case "field":
				one.field = v.(string)
			case "reason":
				one.reason = v.(string)
			default:
				require.Equal(t, "offset", name)
			}
		}
		got = append(got, one)
	}
	require.Equal(t, want, got, w.Body.String())
	return e.Message
}

// requireRequestID checks that an answer has a UUID as its ID.
func requireRequestID(t testing.TB, w *httptest.ResponseRecorder) {
	t.Helper()
	ids := w.Header()["X-Request-Id"]
	require.Len(t, ids, 1)
	_, err := uuid.Parse(ids[0])
	require.NoError(t, err)
}

// requireTokens checks the answer to a tokenization.
func requireTokens(t testing.TB, w *httptest.ResponseRecorder, want ...string) {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	requireRequestID(t, w)
	var records []string
	for _, token := range want {
		records = append(records, `{"token":"`+token+`"}`)
	}
	require.Equal(t, `{"records":[`+strings.Join(records, ",")+`]}`, w.Body.String())
}

// parameters is a body of tokenization parameters.
func parameters(items ...string) string {
	return `{"tokenizationParameters":[` + strings.Join(items, ",") + `]}`
}

// ofEmail is an item that asks for the token of an email address.
func ofEmail(value string) string {
	return `{"value":` + quoteJSON(value) + `,"table":"persons","column":"email"}`
}

func ofName(value string) string {
	return `{"value":` + quoteJSON(value) + `,"table":"persons","column":"name"}`
}

func quoteJSON(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// fixedTokenizer makes one token for everything.
type fixedTokenizer string

func (fixedTokenizer) CheckFormat(string) error { return nil }

func (fixedTokenizer) Limits() keyring.Limits { return keyring.Limits{} }

func (t fixedTokenizer) Tokens(_ context.Context, requests []format.Request) ([]format.Result, error) {
	return slices.Repeat([]format.Result{{Token: string(t)}}, len(requests)), nil
}

func (t fixedTokenizer) CheckTokens(_ context.Context, pairs []format.Pair) ([]error, error) {
	return make([]error, len(pairs)), nil
}

// refusingTokenizer makes tokens of nothing.
type refusingTokenizer struct {
	format.Standard
	err error
}

func (r *refusingTokenizer) Tokens(_ context.Context, requests []format.Request) ([]format.Result, error) {
	return slices.Repeat([]format.Result{{Err: r.err}}, len(requests)), nil
}
