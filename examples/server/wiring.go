package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// backends is what the services stand on. Each storage has a file that opens one:
// storage_sqlite.go, storage_postgres.go; openMemory needs none.
type backends struct {
	trigger  trigger.Backend
	authmgmt authmgmt.Backend
	vault    vault.Backend
	audio    audiosearch.Backend
	files    *mediaFolder                                                        // the videos; as of backendsOf, none can be opened
	model    *soundModel                                                         // nil: none
	kept     string                                                              // where the data is, as in "in the folder x"
	others   []httpadapter.Part                                                  // what must answer besides the services
	dead     func(context.Context) (rows int64, oldest time.Duration, err error) // nil; or of PostgreSQL
	close    func() error
}

// database is what every storage opens.
type database interface {
	Trigger() trigger.Backend
	AuthMgmt() authmgmt.Backend
	Vault() vault.Backend
	AudioSearch() audiosearch.Backend
	Queue(opts *leases.Options) *leases.Queue
	Close() error
}

// backendsOf takes a database apart. Both services that have jobs take them from one
// table. The queues log failures of the table.
func backendsOf(db database, kept string, lease time.Duration, log *slog.Logger) *backends {
	triggers, audio := db.Trigger(), db.AudioSearch()
	triggers.Directory = triggers.Store.(trigger.Organizations) // the provisioning document sets them up
	triggers.Queue = db.Queue(&leases.Options{TTL: lease, Logger: log})
	audio.Queue = db.Queue(&leases.Options{TTL: lease, Logger: log})
	return &backends{
		trigger: triggers, authmgmt: db.AuthMgmt(), vault: db.Vault(), audio: audio, files: new(mediaFolder), kept: kept, close: db.Close,
	}
}

// openMemory is the storage of -memory: everything ends with the process.
func openMemory(ctx context.Context, lease time.Duration, log *slog.Logger) (*backends, error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	return backendsOf(db, "in memory, and ends with the process", lease, log), nil
}

// openStorage opens the storage that the operator asked for, and the folder of the
// videos.
func openStorage(ctx context.Context, s *settings, log *slog.Logger) (b *backends, err error) {
	switch {
	case s.memory:
		b, err = openMemory(ctx, s.lease, log)
	case s.database != nil:
		b, err = openPostgres(ctx, s, log)
	default:
		b, err = openSQLite(ctx, s.data, s.lease, log)
	}
	if err != nil {
		return nil, err
	}
	if b.files, err = openMedia(s); err != nil {
		return nil, errors.Join(err, b.close())
	}
	closeTables := b.close
	b.close = func() error { return errors.Join(b.files.close(), closeTables()) }
	return b, nil
}

// services are the domain services of the program. Each has a file that makes it:
// trigger.go, authmgmt.go, vault.go, audiosearch.go.
type services struct {
	trigger  *triggerService
	authmgmt *authmgmtService
	vault    *vaultService
	audio    *audioService
	demo     demoMade
	site     *site              // pages for people
	others   []httpadapter.Part // as of backends; the demo besides
	dead     func(context.Context) (rows int64, oldest time.Duration, err error)
}

// member is what every service must have to be mounted, watched and run.
type member struct {
	httpadapter.Part
	handler *httpadapter.Handler
	// run is its worker: until ctx ends, and then for as long as its attempts have left.
	run func(ctx context.Context) error
}

// all lists the services in the order of their paths in the OpenAPI document.
func (s *services) all() []member {
	return []member{s.trigger.member, s.authmgmt.member, s.vault.member, s.audio.member}
}

// handlers lists what is mounted, in the same order.
func (s *services) handlers() (list []*httpadapter.Handler) {
	for _, m := range s.all() {
		list = append(list, m.handler)
	}
	return slices.Insert(list, 1, s.trigger.bulk)
}

// needed lists what must answer a ping for the program to be ready.
func (s *services) needed() (parts []httpadapter.Part) {
	for _, m := range s.all() {
		parts = append(parts, m.Part)
	}
	return append(parts, s.others...)
}

// wire makes the services.
func wire(s *settings, b *backends, key localkeys.Root, log *slog.Logger) (*services, error) {
	all := &services{others: b.others, dead: b.dead}
	var err error
	if all.authmgmt, err = newAuthMgmtService(s, b.authmgmt, b.audio.Store, key, log); err != nil {
		return nil, err
	}
	if all.trigger, err = newTriggerService(s, b.trigger, all.authmgmt.service, log); err != nil {
		return nil, err
	}
	if all.vault, err = newVaultService(s, b.vault, all.authmgmt.service, key, log); err != nil {
		return nil, err
	}
	if all.site, err = newSite(s, withDemo(s.demo.token, access.Full(), httpadapter.AccessTokens(all.authmgmt.service)), log); err != nil {
		return nil, err
	}
	if all.audio, err = newAudioService(s, b, all.authmgmt.service, all.site, log); err != nil {
		return nil, err
	}
	if s.demo != (demoCredentials{}) {
		all.others = append(slices.Clip(all.others), httpadapter.Part{Name: "demo", Ping: all.demo.ping})
	}
	return all, nil
}
