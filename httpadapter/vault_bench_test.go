package httpadapter_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// benchBatch is how many values a request of the benchmark has: as many as it may.
const benchBatch = 1000

// BenchmarkVaultRoute measures POST /v1/vaults/{vaultID}/tokenize, on memory and with
// keys from localkeys, beside a bare net/http handler that authenticates alike, decodes
// the same batch with encoding/json, computes the HMAC-SHA-256 of each value, and answers
// as many tokens. The bare one looks nothing up. The two take turns within one run; run
// it with -benchtime=2000x or more. A speed-ratio above 1 says that the adapter is the
// faster one.
func BenchmarkVaultRoute(b *testing.B) {
	adapter, body := benchVault(b)
	keys := keyTable{sha256.Sum256([]byte(benchKey)): "acme"}
	bare := http.NewServeMux()
	bare.Handle("POST /v1/vaults/{vaultID}/tokenize", bareTokenizer(keys))
	var adapterTime, bareTime time.Duration
	for b.Loop() {
		adapterTime += vaultTurn(b, adapter, body)
		bareTime += vaultTurn(b, bare, body)
	}
	n := float64(b.N * benchBatch)
	b.ReportMetric(float64(adapterTime.Nanoseconds())/n, "adapter-ns/value")
	b.ReportMetric(float64(bareTime.Nanoseconds())/n, "bare-ns/value")
	b.ReportMetric(float64(bareTime)/float64(adapterTime), "speed-ratio")
	b.ReportMetric(testing.AllocsPerRun(10, func() { vaultTurn(b, adapter, body) }), "adapter-allocs")
	b.ReportMetric(testing.AllocsPerRun(10, func() { vaultTurn(b, bare, body) }), "bare-allocs")
	b.ReportMetric(0, "ns/op")
}

// benchVault is the service with a batch of values in it, and the body that asks for
// their tokens.
func benchVault(b *testing.B) (http.Handler, string) {
	b.Helper()
	db, err := memory.Open(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	key := make([]byte, localkeys.RootSize)
	key[0] = 1
	root, err := localkeys.NewRoot(key)
	if err != nil {
		b.Fatal(err)
	}
	keyring, err := localkeys.New(localkeys.Key{Version: 1, Root: root})
	if err != nil {
		b.Fatal(err)
	}
	service, err := vault.New(db.Vault(), keyring, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err = service.CreateVault(b.Context(), "acme", "bench", "v1", vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic},
	}}}}); err != nil {
		b.Fatal(err)
	}
	items := make([]vault.Item, benchBatch)
	var body strings.Builder
	body.WriteString(`{"tokenizationParameters":[`)
	for i := range items {
		value := fmt.Sprintf("person.%04d@example.com", i)
		items[i] = vault.Item{Place: vault.InColumn("persons", "email"), Value: vault.NewValue(value)}
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"value":%q,"table":"persons","column":"email"}`, value)
	}
	body.WriteString(`]}`)
	if _, err = service.Insert(b.Context(), "acme", "bench", "v1", items); err != nil {
		b.Fatal(err)
	}
	keys := keyTable{sha256.Sum256([]byte(benchKey)): "acme"}
	adapter, err := httpadapter.NewVault(service, httpadapter.Bearer(func(_ context.Context, token string) (httpadapter.Principal, error) {
		if org, ok := keys.verify(token); ok {
			return httpadapter.Principal{Organization: org, Access: access.Full()}, nil
		}
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}), nil)
	if err != nil {
		b.Fatal(err)
	}
	return adapter, body.String()
}

func vaultTurn(b *testing.B, h http.Handler, body string) time.Duration {
	r := httptest.NewRequest(http.MethodPost, "/v1/vaults/v1/tokenize", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+benchKey)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	start := time.Now()
	h.ServeHTTP(w, r)
	spent := time.Since(start)
	if w.Code != http.StatusOK || strings.Count(w.Body.String(), `{"token":"`) != benchBatch {
		b.Fatalf("%d %s", w.Code, w.Body)
	}
	return spent
}

type bareTokenRequest struct {
	Items []struct {
		Value  string `json:"value"`
		Table  string `json:"table"`
		Column string `json:"column"`
		Group  string `json:"columnGroup"`
	} `json:"tokenizationParameters"`
}

type bareToken struct {
	Token string `json:"token"`
}

// bareTokenizer is what a Go service without a store would write by hand: tokens that are
// HMACs.
func bareTokenizer(keys keyTable) http.HandlerFunc {
	key := []byte("a key of 32 bytes, for benchmarks")
	return func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, known := keys.verify(token); !ok || !known {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var body bareTokenRequest
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<20)).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		records := make([]bareToken, len(body.Items))
		mac := hmac.New(sha256.New, key)
		var sum [sha256.Size]byte
		for i, item := range body.Items {
			if item.Group == "" && (item.Table == "" || item.Column == "") {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			mac.Reset()
			mac.Write([]byte(item.Value))
			mac.Sum(sum[:0])
			records[i].Token = uuid.UUID(sum[:16]).String()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"records": records})
	}
}
