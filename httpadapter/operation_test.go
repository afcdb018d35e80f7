package httpadapter

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdempotencyKeyIsNeverIgnored: an operation that makes something anew when it is asked
// again refuses an Idempotency-Key, and looks at nothing else of the request.
func TestIdempotencyKeyIsNeverIgnored(t *testing.T) {
	repeatable := map[string]string{
		"submitApiTrigger": "it takes the key", "acceptInvitation": "once for each link", "cancelSearchRun": "once for each run",
		"cancelTrigger": "once for each event", "retryTrigger": "once for each end", "runTrigger": "it is due once",
		"cancelTriggers": "as of one", "retryTriggers": "as of one",
		"tokenize": "it stores nothing", "detokenize": "it stores nothing", "login": "OAuth: clients do not send the key",
	}
	vaults, _ := describedVault(t, everyVaultOption)
	for _, h := range append(describedTriggers(t, everyOption),
		describedAuthMgmt(t, everyAuthMgmtOption), describedAudioSearch(t, everySearchOption), vaults,
	) {
		for _, op := range h.ops {
			if op.Method != http.MethodPost || repeatable[op.ID] != "" {
				continue
			}
			path := strings.NewReplacer("{vaultID}", "v1", "{table}", "persons", "{client_id}", "c", "{invitation_id}", "i").Replace(op.Pattern)
			r := httptest.NewRequest(op.Method, path, strings.NewReader("not JSON"))
			r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer full"}, "Idempotency-Key": {"7"}}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, http.StatusBadRequest, w.Code, "%s: %s", op.ID, w.Body)
			require.Contains(t, w.Body.String(), "The header Idempotency-Key is not supported here", op.ID)
			r.Header.Del("Idempotency-Key")
			w = httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.NotContains(t, w.Body.String(), "Idempotency-Key", op.ID)
		}
	}
}
