package httpadapter_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// TestTokenizeLimit: callers have their own rates, with whatever they show.
func TestTokenizeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, err := localkeys.New(localkeys.Key{Version: 1, Root: localkeys.RandomRoot()})
		require.NoError(t, err)
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		service, err := vault.New(db.Vault(), keys, nil)
		require.NoError(t, err)
		callers := httpadapter.AuthenticatorFunc(func(r *http.Request) (httpadapter.Principal, error) {
			who := r.Header.Get("Who")
			if who == "" {
				return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
			}
			return httpadapter.Principal{Organization: "acme", Subject: who, Access: access.Full()}, nil
		})
		limit, err := httpadapter.NewCallerLimit(2.5)
		require.NoError(t, err)
		handler, err := httpadapter.NewVault(service, callers, &httpadapter.VaultOptions{Detokenize: true, TokenizeLimit: limit})
		require.NoError(t, err)
		ask := func(who, operation string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", "/v1/vaults/v1/"+operation, strings.NewReader(`{"tokenizationParameters":[{"value":"a","columnGroup":"b"}]}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Who", who)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w
		}
		for range 3 {
			require.Equal(t, http.StatusNotFound, ask("ada", "tokenize").Code)
		}
		w := ask("ada", "tokenize")
		require.Equal(t, http.StatusTooManyRequests, w.Code, w.Body.String())
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		var body struct {
			Error struct {
				GRPCCode int    `json:"grpc_code"`
				Status   string `json:"http_status"`
			} `json:"error"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		require.Equal(t, 8, body.Error.GRPCCode)
		require.Equal(t, "Too Many Requests", body.Error.Status)

		require.Equal(t, http.StatusNotFound, ask("grace", "tokenize").Code, "another caller")
		require.NotEqual(t, http.StatusTooManyRequests, ask("ada", "detokenize").Code, "another operation")
		require.Equal(t, http.StatusUnauthorized, ask("", "tokenize").Code)
		time.Sleep(400 * time.Millisecond)
		require.Equal(t, http.StatusNotFound, ask("ada", "tokenize").Code)
		require.Equal(t, http.StatusTooManyRequests, ask("ada", "tokenize").Code, "what was refused does not count")
	})
}
