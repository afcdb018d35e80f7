package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise/storage/provision"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// readProvisioning reads a document, and tells whatever a service refuses of it, before
// anything is stored. Without a path it returns nil.
func readProvisioning(ctx context.Context, path string, env []string) (*provision.Document, error) {
	if path == "" {
		return nil, nil
	}
	doc, err := provision.Open(path, env)
	if err == nil {
		err = doc.Rehearse(ctx, inMemory)
	}
	return doc, ofConfig(err)
}

// ofConfig says of what is wrong with the document that it is the operator's.
func ofConfig(err error) error {
	if wrong := (*provision.Error)(nil); errors.As(err, &wrong) {
		return usagef("-config: %w", err)
	}
	return err
}

// applyDocument makes what is stored follow a document, which was rehearsed. It can be
// called at every start. The datasets of the document are looked at once the server
// listens.
func applyDocument(ctx context.Context, s *services, doc *provision.Document, log *slog.Logger) error {
	to := s.provisioned()
	to.Logger = log
	if err := doc.Apply(ctx, to, inMemory); err != nil {
		return ofConfig(err)
	}
	s.audio.ingestion.add(doc.Datasets())
	log.Info("provisioning document applied", "organizations", doc.Len())
	return nil
}

// provisioned are the services that documents are applied to.
func (s *services) provisioned() *provision.Services {
	return &provision.Services{
		Trigger: s.trigger.service, AuthMgmt: s.authmgmt.service, Credentials: s.authmgmt.store,
		Vault: s.vault.service, Sandbox: s.vault.sandbox, AudioSearch: s.audio.service,
	}
}

// inMemory is the [provision.Empty] of this program.
func inMemory(ctx context.Context, do func(*provision.Services) error) error {
	log := slog.New(slog.DiscardHandler)
	back, err := openMemory(ctx, 0, log)
	if err != nil {
		return err
	}
	s, err := wire(&settings{memory: true, publicURL: "http://127.0.0.1"}, back, localkeys.RandomRoot(), log)
	if err == nil {
		err = do(s.provisioned())
	}
	return errors.Join(err, back.close())
}

// warnOfExposed tells an operator which files others can read: the document holds
// credentials and the values of vaults in clear.
func warnOfExposed(doc *provision.Document, log *slog.Logger) {
	exposed := doc.Exposed()
	for _, file := range slices.Sorted(maps.Keys(exposed)) {
		warnOfMode(log, "others can read the provisioning document, or a file of it, which holds secrets; chmod 600 it", file, exposed[file])
	}
}
