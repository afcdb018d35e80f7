package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// TestWrongKeyOfTheVault: a key that the invitations take, and the vault does not, is as
// wrong as one that nobody takes.
func TestWrongKeyOfTheVault(t *testing.T) {
	for name, open := range storages {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			digits := randomKey()
			key, err := localkeys.ParseRoot(digits)
			if err != nil {
				t.Fatal(err)
			}
			keyring, err := vaultKeyring(testKey())
			if err != nil {
				t.Fatal(err)
			}
			other, err := vault.New(b.vault, keyring, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.CheckKeys(t.Context()); err != nil {
				t.Fatal(err)
			}
			var usage *usageError
			if log, err := checkOn(t, b, &localkeys.RootFile{Root: key, Path: "named", Exposed: 0o644}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "named holds another key") || log != "" {
				t.Errorf("got %v; logged %s", err, log)
			} else if strings.Contains(fmt.Sprint(err), digits) {
				t.Errorf("the error repeats the key: %v", err)
			}
		})
	}
}

// TestRotatedVault: a vault whose keys another program rotated needs versions that this
// one does not have. To try again is of no use.
func TestRotatedVault(t *testing.T) {
	for name, open := range storages {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			k := &localkeys.RootFile{Root: testKey()}
			if _, err := checkOn(t, b, k); err != nil {
				t.Fatal(err)
			}
			_, registerErr := b.vault.Store.RegisterKey(t.Context(), keyring.Key{Purpose: keyring.FingerprintKey, Version: 2, Check: keyring.Fingerprint{2}})
			if err := errors.Join(registerErr, b.vault.Store.RequireKey(t.Context(), 2)); err != nil {
				t.Fatal(err)
			}
			refused := func(stage string) {
				t.Helper()
				var usage *usageError
				if _, err := checkOn(t, b, k); !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "-vault-key: the keys of the vault were rotated") {
					t.Errorf("%s: got %v", stage, err)
				}
			}
			refused("in the middle")
			if err := b.vault.Store.RetireKey(t.Context(), keyring.FingerprintKey, 1, 2); err != nil {
				t.Fatal(err)
			}
			refused("at the end")
		})
	}
}

// TestNotReadyWithoutTheVault: the readiness of the program includes the vault's.
func TestNotReadyWithoutTheVault(t *testing.T) {
	b := storages["memory"](t)
	store := &brokenVault{Store: b.vault.Store}
	b.vault.Store = store
	s, err := wire(testSettings(), b, testKey(), discard())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := routes(t.Context(), new(settings), s, discard())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		err  error
		want int
	}{{nil, http.StatusOK}, {errors.New("disk on fire"), http.StatusServiceUnavailable}, {nil, http.StatusOK}} {
		store.vault = step.err
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != step.want {
			t.Errorf("%v: %d %s", step.err, w.Code, w.Body)
		}
	}
}

// TestTokenizeRate: each caller has a rate of its own to tokenize, and none for anything else.
func TestTokenizeRate(t *testing.T) {
	callers := httpadapter.AuthenticatorFunc(func(r *http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Subject: r.Header.Get("Who")}, nil
	})
	auth, err := limitTokenize(callers, 0.001)
	if err != nil {
		t.Fatal(err)
	}
	for i, ask := range []struct {
		who, path string
		refused   bool
	}{
		{"ada", "/v1/vaults/v1/tokenize", false},
		{"ada", "/v1/vaults/v1/tokenize", true},
		{"ada", "/sandbox/v1/vaults/v1/tokenize", true},
		{"ada", "/v1/vaults/v1/detokenize", false},
		{"grace", "/v1/vaults/v1/tokenize", false},
	} {
		r := httptest.NewRequest("POST", ask.path, nil)
		r.Header.Set("Who", ask.who)
		var limit *httpadapter.RateLimitError
		if _, err := auth.Authenticate(r); errors.As(err, &limit) != ask.refused {
			t.Errorf("request %d: got %v", i, err)
		}
	}
}
