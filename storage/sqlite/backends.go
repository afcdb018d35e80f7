package sqlite

import (
	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/tables"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// Queue returns a queue over this database's jobs, of all kinds. Options may be nil. A job
// wakes the idle consumers of this process at once, and those of other processes at their
// next poll (leases.Options.Poll).
func (db *DB) Queue(opts *leases.Options) *leases.Queue {
	return leases.New(db.Jobs(), opts)
}

// Jobs returns the table of jobs, of all kinds. It is a [mortise.Sharer] and a
// [leases.JobNotifier], too.
func (db *DB) Jobs() mortise.JobTable { return db.jobs }

// Trigger returns a Backend for package trigger: Store and Keys, and the queue of
// db with its default settings. Put another one in its place for others: [DB.Queue].
// The Store is a [trigger.Organizations], too, for a host that makes it the Directory.
func (db *DB) Trigger() trigger.Backend {
	return trigger.Backend{Store: db.trigger, Queue: db.Queue(nil), Keys: db.trigger, Err: tables.Missing(db.domains, "trigger")}
}

// AuthMgmt returns a Backend for package authmgmt: Store and Directory.
func (db *DB) AuthMgmt() authmgmt.Backend {
	return authmgmt.Backend{Store: db.authmgmt, Directory: db.authmgmt, Err: tables.Missing(db.domains, "authmgmt")}
}

// Vault returns a Backend for package vault: a Store.
func (db *DB) Vault() vault.Backend {
	return vault.Backend{Store: db.vault, Err: tables.Missing(db.domains, "vault")}
}

// AudioSearch returns a Backend for package audiosearch: a Store, and the queue of
// db with its default settings.
func (db *DB) AudioSearch() audiosearch.Backend {
	return audiosearch.Backend{Store: db.audiosearch, Queue: db.Queue(nil), Err: tables.Missing(db.domains, "audiosearch")}
}
