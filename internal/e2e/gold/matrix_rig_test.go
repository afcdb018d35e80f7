package gold

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// matrixRig has callers of all kinds. The objects of its requests belong to the organization acme.
type matrixRig struct {
	*rig
	tokens map[string]string // by caller
	made   int
}

// Paths of the credentials service.
const (
	clientsAt     = "/api/v1/auth-management/clients"
	invitationsAt = "/api/v1/auth-management/user-invitations"
	issuedAt      = "/api/v1/auth-management/tokens"
	loginAt       = "/api/v0/login"
)

// matrixDocument is what there is at the beginning.
const matrixDocument = `{"organizations": [
  {"id": "acme", "setup_complete": true, "rbac_enabled": true,
   "doc_collections": [{"id": "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11", "ready": true}],
   "vaults": [{"id": "v1", "tables": [{"name": "persons", "columns": [
     {"name": "name", "tokenization": "deterministic", "mask": "1*1"}]}]}],
   "datasets": [{"id": "d1"}]},
  {"id": "rival", "setup_complete": true, "rbac_enabled": true,
   "doc_collections": [{"id": "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11", "ready": true}]}]}`

func newMatrixRig(t *testing.T, db database) *matrixRig {
	t.Helper()
	r := &matrixRig{rig: newRig(t, db, matrixDocument, 100), tokens: make(map[string]string)}
	r.callers()
	return r
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
	r.clock.Advance(time.Second)
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
	r.mounts[""].ServeHTTP(w, req)
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

// cancelled submits a trigger, cancels it, and returns its ID.
func (r *matrixRig) cancelled() string {
	id := r.event()
	_, err := r.trigger.Cancel(r.t.Context(), "acme", "", uuid.MustParse(id))
	require.NoError(r.t, err)
	return id
}

// client makes a client and returns its ID.
func (r *matrixRig) client(roles ...access.Role) string {
	c, _, err := r.auth.CreateClient(r.t.Context(), "acme", operator, authmgmt.NewClient{
		Name: "n", Roles: roles, FullAccess: len(roles) == 0,
	})
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
