package e2e

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// BenchmarkVaultSQLite measures POST /v1/vaults/{vaultID}/tokenize on SQLite, among 10^5
// values, beside a handler written by hand that authenticates alike, decodes the same
// batch, computes the fingerprints by the same keyring, and looks them up in the same
// tables by one statement over database/sql. The two take turns within one run.
//
//	go test ./internal/e2e -run '^$' -bench VaultSQLite -benchtime 300x
func BenchmarkVaultSQLite(b *testing.B) {
	const stored = 100_000
	path := filepath.Join(b.TempDir(), "vault.db")
	db, err := sqlite.Open(b.Context(), path, nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	root, err := localkeys.NewRoot([]byte("not random, for benchmarks only."))
	require.NoError(b, err)
	keys, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	require.NoError(b, err)
	service, err := vault.New(db.Vault(), keys, nil)
	require.NoError(b, err)
	_, err = service.CreateVault(b.Context(), "acme", "bench", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic},
	}}}})
	require.NoError(b, err)
	for first := 0; first < stored; first += 1000 {
		items := make([]vault.Item, 1000)
		for i := range items {
			items[i] = vault.Item{Place: vault.InColumn("persons", "email"), Value: vault.NewValue(benchPerson(first + i))}
		}
		_, err := service.Insert(b.Context(), "acme", "bench", "v1", items)
		require.NoError(b, err)
	}
	const secret = "not-secret-for-benchmarks-only"
	digest := sha256.Sum256([]byte(secret))
	authenticated := func(token string) bool { return sha256.Sum256([]byte(token)) == digest }
	adapter, err := httpadapter.NewVault(service, httpadapter.Bearer(func(_ context.Context, token string) (httpadapter.Principal, error) {
		if authenticated(token) {
			return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
		}
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}), nil)
	require.NoError(b, err)
	byHand := http.NewServeMux()
	byHand.Handle("POST /v1/vaults/{vaultID}/tokenize", tokenizerByHand(b, path, keys, authenticated))

	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			contenders := []http.Handler{adapter, byHand}
			var took [2][]time.Duration
			repeat := max(1, 100/size)
			for n := 0; b.Loop(); n++ {
				requests := make([]string, repeat)
				for k := range requests {
					requests[k] = tokenizeBody((n*repeat+k)*7, size, stored)
				}
				var answers [2]string
				for i := range contenders {
					which := (n + i) % 2
					spent := time.Duration(0)
					for _, body := range requests {
						r := httptest.NewRequest(http.MethodPost, "/v1/vaults/v1/tokenize", strings.NewReader(body))
						r.Header.Set("Authorization", "Bearer "+secret)
						r.Header.Set("Content-Type", "application/json")
						w := httptest.NewRecorder()
						begun := time.Now()
						contenders[which].ServeHTTP(w, r)
						spent += time.Since(begun)
						require.Equal(b, http.StatusOK, w.Code, w.Body)
						answers[which] = w.Body.String()
					}
					took[which] = append(took[which], spent)
				}
				require.JSONEq(b, answers[1], answers[0])
			}
			var median [2]float64
			for i := range took {
				slices.Sort(took[i])
				median[i] = float64(took[i][len(took[i])/2].Nanoseconds()) / float64(repeat*size)
			}
			b.ReportMetric(median[0], "adapter-ns/value")
			b.ReportMetric(median[1], "by-hand-ns/value")
			b.ReportMetric(median[1]/median[0], "of-by-hand")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func benchPerson(n int) string { return fmt.Sprintf("person%d@example.com", n) }

// tokenizeBody asks for values that are spread over all that are stored.
func tokenizeBody(first, n, stored int) string {
	var body strings.Builder
	for i := range n {
		fmt.Fprintf(&body, `,{"value":%q,"table":"persons","column":"email"}`, benchPerson((first+i*(stored/n-1))%stored))
	}
	return `{"tokenizationParameters":[` + body.String()[1:] + `]}`
}

// tokenizerByHand looks up what the service has stored, whose only scope has the number 1.
func tokenizerByHand(b *testing.B, path string, keys *localkeys.Keyring, authenticated func(string) bool) http.HandlerFunc {
	db, err := sql.Open("sqlite", "file:"+path+"?_query_only=1")
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	one, err := db.Prepare("SELECT 0, token FROM vault_fingerprints WHERE fingerprint = substr(?, 1, 32) AND scope = ? AND version = ?")
	require.NoError(b, err)
	many, err := db.Prepare("SELECT n, token FROM vault_numbers CROSS JOIN vault_fingerprints" +
		" ON fingerprint = substr(?, n * 32 + 1, 32) AND scope = ? AND version = ? WHERE n < ?")
	require.NoError(b, err)
	scope := keyring.Scope{Organization: "acme", Vault: "v1", Name: "persons.email"}
	return func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !authenticated(token) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var body struct {
			Items []struct{ Value, Table, Column string } `json:"tokenizationParameters"`
		}
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<20)).Decode(&body)
		if err != nil || slices.ContainsFunc(body.Items, func(i struct{ Value, Table, Column string }) bool { return i.Table == "" || i.Column == "" }) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		records, err := func() ([]benchToken, error) {
			items := make([]keyring.FingerprintItem, len(body.Items))
			for i := range items {
				items[i] = keyring.FingerprintItem{Scope: scope, Value: keyring.NewValue(body.Items[i].Value)}
			}
			of := make([]keyring.Fingerprint, len(items))
			if err := keys.Fingerprint(r.Context(), 1, items, of); err != nil {
				return nil, err
			}
			var all []byte
			for i := range of {
				all = append(all, of[i][:]...)
			}
			statement, args := many, []any{all, 1, 1, len(of)}
			if len(of) == 1 {
				statement, args = one, args[:3]
			}
			rows, err := statement.QueryContext(r.Context(), args...)
			if err != nil {
				return nil, err
			}
			defer func() { _ = rows.Close() }()
			records := make([]benchToken, len(of))
			for rows.Next() {
				var n int
				var token string
				if err := rows.Scan(&n, &token); err != nil {
					return nil, err
				}
				records[n].Token = token
			}
			return records, rows.Err()
		}()
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"records": records})
	}
}

type benchToken struct {
	Token string `json:"token"`
}
