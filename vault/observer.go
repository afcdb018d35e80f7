package vault

import (
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Observer hears of what the service does: for metrics, alerts or a host's own audit. It
// is called on the goroutine of the caller, after the call's work is done, and by the steps
// of a rotation also meanwhile. It must be safe for concurrent use, and should return
// quickly.
//
// It hears of a change in a transaction of the host's ([mortise.HostTx]) once that is
// committed, on any goroutine, with a context that is not part of it, and never if it is
// rolled back, or if the store does not learn of the commit. It hears of tokens that were
// looked up, of values that were shown, and of failures at once: a rollback takes back the
// audit event, and not the knowledge of the caller who saw the value.
type Observer func(ctx context.Context, o Observation)

// Kind is what was done.
type Kind string

// The kinds. Those of changes, and of values that are shown, have an [AuditEvent].
const (
	KindTokenized     Kind = "tokenized"
	KindInserted      Kind = "inserted"
	KindImported      Kind = "imported"       // audited
	KindDetokenized   Kind = "detokenized"    // audited
	KindExported      Kind = "exported"       // audited, a page of rows at a time
	KindDeleted       Kind = "deleted"        // audited
	KindVaultCreated  Kind = "vault_created"  // audited
	KindSchemaChanged Kind = "schema_changed" // audited
	KindVaultDeleted  Kind = "vault_deleted"  // audited, when it is marked as deleted
	KindBackfilled    Kind = "backfilled"
	KindRewrapped     Kind = "rewrapped"
	KindKeyRetired    Kind = "key_retired"

	// These tell how far a step of a rotation is: when it begins, and about once a second.
	KindBackfilling Kind = "backfilling"
	KindRewrapping  Kind = "rewrapping"
	KindKeyRetiring Kind = "key_retiring"

	// KindOrganizationDeleted is audited when the organization is marked as deleted.
	KindOrganizationDeleted Kind = "organization_deleted"
)

// Observation is one call of the service, or how far it is. It never holds a value. Err
// may name the vault, and a token whose value is corrupt. Unlike the error that the caller
// gets, it does not name tables, columns and groups that do not exist: somebody may have
// written a value in place of a name.
type Observation struct {
	Kind         Kind
	Organization string // "" for the rotation of keys
	Vault        string
	Actor        Actor         // "" if the call takes none
	Items        int           // of the batch
	Duration     time.Duration // of the call, so far
	Err          error         // nil if it was done

	// Of the steps of a rotation: values that are done, by earlier calls too, and all; see
	// [Progress]. Left estimates how long the rest takes, at the mean speed of the call, in
	// whole seconds. It is 0 if that is not known yet, under half a second, and at the end.
	Done, Total int
	Left        time.Duration
}

func (s *Service) observe(ctx context.Context, start time.Time, o Observation) {
	if s.opts.Observer != nil {
		o.Duration = s.opts.Now().Sub(start)
		o.Err = withoutNames(o.Err)
		change := o.Err == nil && !slices.Contains(noChanges, o.Kind)
		hook.Observe(ctx, s.opts.Logger, s.store, change, func(ctx context.Context) { s.opts.Observer(ctx, o) })
	}
}

// noChanges: the kinds that change nothing, or report progress.
var noChanges = []Kind{KindTokenized, KindDetokenized, KindExported, KindBackfilling, KindRewrapping, KindKeyRetiring}

// start is the time for an Observation.
func (s *Service) start() time.Time {
	if s.opts.Observer == nil {
		return time.Time{}
	}
	return s.opts.Now()
}
