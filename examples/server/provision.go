package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/storage/provision"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// readProvisioning reads a document, as far as it is JSON. Without a path it returns nil.
func readProvisioning(path string, env []string) (*provision.Document, error) {
	if path == "" {
		return nil, nil
	}
	doc, err := provision.Open(path, env)
	return doc, ofConfig(err)
}

// ofConfig says of what is wrong with the document that it is the operator's.
func ofConfig(err error) error {
	if wrong := (*provision.Error)(nil); errors.As(err, &wrong) {
		return usagef("-config: %w", err)
	}
	return err
}

// rehearse tells whatever a service refuses of a document, before anything is stored.
func rehearse(ctx context.Context, doc *provision.Document) error {
	if doc == nil {
		return nil
	}
	return ofConfig(doc.Rehearse(ctx, inMemory))
}

// applyDocument makes what is stored follow a document, which was rehearsed. It can be
// called at every start. The datasets of the document are looked at once the server
// listens.
func applyDocument(ctx context.Context, s *services, doc *provision.Document, log *slog.Logger) error {
	if doc == nil {
		return nil
	}
	to := s.provisioned()
	to.Logger = log
	err := doc.Apply(ctx, to, inMemory)
	if err != nil {
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
	back, err := openMemory(ctx, log)
	if err != nil {
		return err
	}
	back.audio.files = new(mediaFolder) // no file is opened
	s, err := wire(&settings{memory: true, publicURL: "http://127.0.0.1"}, back, localkeys.RandomRoot(), log)
	if err == nil {
		err = do(s.provisioned())
	}
	return errors.Join(err, back.close())
}

// warnOfExposed tells an operator which files others can read: the document holds
// credentials and the values of vaults in clear.
func warnOfExposed(doc *provision.Document, log *slog.Logger) {
	if doc == nil {
		return
	}
	exposed := doc.Exposed()
	for _, file := range slices.Sorted(maps.Keys(exposed)) {
		log.Warn("others can read the provisioning document, or a file of it, which holds secrets; chmod 600 it",
			"file", file, "mode", exposed[file].String())
	}
}

// withoutSecrets returns an environment without the variables that the document has
// secrets from.
func withoutSecrets(env []string, doc *provision.Document) []string {
	if doc == nil {
		return env
	}
	variables := doc.Variables()
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(variables, name)
	})
}
