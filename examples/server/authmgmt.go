package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// authmgmtService is the credentials service.
type authmgmtService struct {
	member
	service *authmgmt.Service
	store   authmgmt.Store // for what a provisioning document is compared with
}

func newAuthMgmtService(s *settings, b authmgmt.Backend, datasets audiosearch.Store, root localkeys.Root, log *slog.Logger) (*authmgmtService, error) {
	derived, err := root.Derive(purposeInvitations)
	key, keyErr := authmgmt.NewInvitationKey(derived[:])
	if err := errors.Join(err, keyErr); err != nil {
		return nil, err
	}
	service, err := authmgmt.New(b, &authmgmt.Options{
		AcceptURL:     s.publicURL + httpadapter.AcceptPath,
		InvitationKey: key,
		GrantToken:    tokenLifetime,
		HasDataset:    hasDataset(datasets),
		Env:           s.env(log),
	})
	if err != nil {
		return nil, fmt.Errorf("make the credentials service: %w", err)
	}
	routes, err := httpadapter.NewAuthMgmt(service, httpadapter.Bearer(withDemo(s.demo.token, access.Full(), httpadapter.AccessTokens(service))), &httpadapter.AuthMgmtOptions{
		Options:     httpadapter.Options{Observer: s.meters.request, Logger: log},
		Clients:     true,
		Invitations: true,
		Tokens:      true,
		AcceptPage:  true,
		AcceptNext:  s.publicURL + "/",
		Login:       true,
	})
	if err != nil {
		return nil, fmt.Errorf("mount the credentials service: %w", err)
	}
	return &authmgmtService{member{httpadapter.Part{Name: "authmgmt", Ping: service.Ping}, routes, service.Run}, service, b.Store}, nil
}

// hasDataset says which datasets there are.
func hasDataset(store audiosearch.Store) func(ctx context.Context, org, id string) (bool, error) {
	return func(ctx context.Context, org, id string) (bool, error) {
		_, err := store.Dataset(ctx, org, id)
		if errors.Is(err, audiosearch.ErrDatasetNotFound) {
			return false, nil
		}
		return err == nil, err
	}
}

// tokenLifetime is how long a token works that is issued to a person, unless it is
// revoked before. Those of clients end sooner.
const tokenLifetime = 90 * 24 * time.Hour
