package httpadapter_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// An operator sees which secret of a client is still in use, and ends one.
func TestListAndRevokeSecrets(t *testing.T) {
	r := newAuthRig(t, nil, nil)
	first := r.client("acme", "c1", access.Role{ID: "viewer"})
	ids := func() (ids []string) {
		c, err := r.service.Client(t.Context(), "acme", "c1")
		require.NoError(t, err)
		for _, s := range c.Secrets {
			ids = append(ids, s.ID.String())
		}
		return ids
	}
	const at = clients + "/c1/secrets"
	requireBody(t, r.as("client admin", "GET", at, ""), http.StatusOK, `{"data":[{"secret_id":"`+ids()[0]+`",`+
		`"created_at":"2026-01-17T09:12:45.123456Z","last_used_at":null,"expires_at":null}]}`)

	r.advance(time.Second)
	require.True(t, r.logsIn("c1", first))
	r.advance(time.Minute - time.Microsecond)
	require.True(t, r.logsIn("c1", first), "within a minute, so it is not noted")
	_, second := r.credentials(r.as("full", "POST", clients+"/c1/rotate-secret", `{"overlap_seconds":3600}`).Body.Bytes())
	w := r.as("admin", "GET", at, "")
	requireBody(t, w, http.StatusOK, `{"data":[`+
		`{"secret_id":"`+ids()[0]+`","created_at":"2026-01-17T09:12:45.123456Z","last_used_at":"2026-01-17T09:12:46.123456Z","expires_at":"2026-01-17T10:13:46.123455Z"},`+
		`{"secret_id":"`+ids()[1]+`","created_at":"2026-01-17T09:13:46.123455Z","last_used_at":null,"expires_at":null}]}`)
	require.NotContains(t, w.Body.String(), second)
	r.advance(time.Microsecond)
	require.True(t, r.logsIn("c1", first))
	require.Contains(t, r.as("admin", "GET", at, "").Body.String(), `"last_used_at":"2026-01-17T09:13:46.123456Z"`)

	revoked, last := ids()[0], ids()[1]
	w = r.as("admin", "DELETE", at+"/"+revoked, "")
	requireBody(t, w, http.StatusOK, "")
	require.Empty(t, w.Header().Get("Content-Type"))
	require.False(t, r.logsIn("c1", first))
	require.True(t, r.logsIn("c1", second))
	const missing = "There is no such client, or it has no such secret."
	for _, path := range []string{at + "/" + revoked, clients + "/c2/secrets/" + last, at + "/" + uuid.Max.String()} {
		require.Equal(t, missing, requireDetail(t, r.as("admin", "DELETE", path, ""), http.StatusNotFound))
	}
	require.Equal(t, missing, requireDetail(t, r.as("rival", "DELETE", at+"/"+last, ""), http.StatusNotFound))
	require.Equal(t, "There is no such client.", requireDetail(t, r.as("rival", "GET", at, ""), http.StatusNotFound))
	require.True(t, r.logsIn("c1", second))

	// The last one may go, too. Then a rotation makes another.
	requireBody(t, r.as("admin", "DELETE", at+"/"+last, ""), http.StatusOK, "")
	require.False(t, r.logsIn("c1", second))
	requireBody(t, r.as("admin", "GET", at, ""), http.StatusOK, `{"data":[]}`)
	_, third := r.credentials(r.as("full", "POST", clients+"/c1/rotate-secret", "").Body.Bytes())
	require.True(t, r.logsIn("c1", third))

	page, err := r.service.ListAuditEvents(t.Context(), "acme", authmgmt.AuditQuery{Kind: mortise.KindSecretRevoked})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	require.EqualValues(t, "person:admin", page.Items[1].Actor)
	require.Equal(t, "c1", page.Items[1].Target)

	requireDetails(t, r.as("viewer", "DELETE", clients+"/%00/secrets/first", ""),
		detail{"path.client_id", "value_error", "Value error, must not contain U+0000"},
		detail{"path.secret_id", "uuid_parsing", "Input should be a valid UUID, invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `i` at 2"})
}
