package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
	"github.com/seed-6363c74e/mortise/vault/sandbox"
)

// sandboxPrefix is where the sandbox of the vault is, before the paths of the vault. It takes
// the same access tokens.
const sandboxPrefix = "/sandbox"

// vaultService is the vault, and its sandbox.
type vaultService struct {
	member
	service *vault.Service
	sandbox *vault.Service       // to try things out, with the same vaults, without their records
	trial   *httpadapter.Handler // of the sandbox
}

// maxVaultValue bounds a value, in bytes.
const maxVaultValue = 64 << 10

// newVaultService makes the vault. Its callers show access tokens of the credentials
// service.
func newVaultService(s *settings, b vault.Backend, credentials *authmgmt.Service, root localkeys.Root, log *slog.Logger) (*vaultService, error) {
	keyring, err := vaultKeyring(root)
	if err != nil {
		return nil, err
	}
	service, err := vault.New(b, keyring, &vault.Options{MaxValue: maxVaultValue, Env: s.env(log)})
	if err != nil {
		return nil, fmt.Errorf("make the vault: %w", err)
	}
	opts := &httpadapter.VaultOptions{
		Options:       httpadapter.Options{Observer: s.meters.request, Logger: log},
		Insert:        true,
		Detokenize:    true,
		Delete:        true,
		ProductionURL: s.publicURL,
		SandboxURL:    s.publicURL + sandboxPrefix,
	}
	auth := httpadapter.Bearer(withDemo(s.demo.token, access.Full(), httpadapter.AccessTokens(credentials)))
	if s.tokenizeRate > 0 {
		if auth, err = limitTokenize(auth, s.tokenizeRate); err != nil {
			return nil, err
		}
	}
	routes, err := httpadapter.NewVault(service, auth, opts)
	if err != nil {
		return nil, fmt.Errorf("mount the vault: %w", err)
	}
	trials, err := sandbox.New(&sandbox.Options{Options: vault.Options{MaxValue: maxVaultValue, Env: mortise.Env{Logger: log}}})
	if err != nil {
		return nil, fmt.Errorf("make the vault's sandbox: %w", err)
	}
	trial, err := httpadapter.NewVault(trials, auth, opts)
	if err != nil {
		return nil, fmt.Errorf("mount the vault's sandbox: %w", err)
	}
	noWork := func(context.Context) error { return nil }
	return &vaultService{member{httpadapter.Part{Name: "vault", Ping: service.Ping}, routes, noWork}, service, trials, trial}, nil
}

// limitTokenize bounds how many requests a second each caller may make to tokenize.
func limitTokenize(auth httpadapter.Authenticator, rate float64) (httpadapter.Authenticator, error) {
	limit, err := httpadapter.NewCallerLimit(rate)
	if err != nil {
		return nil, err
	}
	limited := limit.Around(auth)
	return httpadapter.AuthenticatorFunc(func(r *http.Request) (httpadapter.Principal, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/tokenize") {
			return limited.Authenticate(r)
		}
		return auth.Authenticate(r)
	}), nil
}

// vaultKeyring returns the keys of the vault. There is one version of them: a rotation
// needs a second root key, and a host that keeps both.
func vaultKeyring(root localkeys.Root) (*localkeys.Keyring, error) {
	derived, err := root.Derive(purposeVault)
	key, keyErr := localkeys.NewRoot(derived[:])
	if err := errors.Join(err, keyErr); err != nil {
		return nil, err
	}
	return localkeys.New(localkeys.Key{Version: 1, Root: key})
}
