package memory

import (
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/vault"
)

// Trigger returns a Backend for package trigger: a [Trigger] as Store and Keys, and the
// queue of db with its default settings. Put another one in its place for others: [DB.Queue].
// The Store is a [trigger.Organizations], too, for a host that makes it the Directory.
func (db *DB) Trigger() trigger.Backend {
	t := &Trigger{db, revoked{db}}
	return trigger.Backend{Store: t, Queue: db.Queue(nil), Keys: t}
}

// AuthMgmt returns a Backend for package authmgmt: an [AuthMgmt] as Store and Directory.
func (db *DB) AuthMgmt() authmgmt.Backend {
	a := &AuthMgmt{db, revoked{db}}
	return authmgmt.Backend{Store: a, Directory: a}
}

// Vault returns a Backend for package vault: a [Vault] as Store.
func (db *DB) Vault() vault.Backend {
	return vault.Backend{Store: &Vault{db, revoked{db}}}
}

// AudioSearch returns a Backend for package audiosearch: an [AudioSearch] as Store, and
// the queue of db with its default settings.
func (db *DB) AudioSearch() audiosearch.Backend {
	return audiosearch.Backend{Store: &AudioSearch{db, revoked{db}}, Queue: db.Queue(nil)}
}
