package mortise

import (
	"context"
	"time"
)

// Observer hears of the work of the services, their workers and their sweepers: for
// metrics, alerts, a progress bar or a host's own audit. It is called on the goroutine that did
// it, after it is stored, must be safe for concurrent use, and should return quickly. A
// panic of it is logged, and changes nothing.
//
// Of a change in a transaction of the host's ([HostTx]) it hears after the commit, on any
// goroutine, with a context that is not part of the transaction. It never hears of a
// change that is rolled back, nor if the store does not learn of the commit. It hears at
// once of refusals, failures and progress, and of vault values that were looked up or
// shown: the caller has seen them, rollback or not.
type Observer func(ctx context.Context, o Observation)

// Observation is one thing that happened. It never holds a secret, a vault value, or the
// instructions or context of an event. A call that verifies a token and finds it good is
// not observed.
type Observation struct {
	Service      string // "trigger", "vault", "authmgmt" or "audiosearch"
	Kind         Kind
	Organization string // "" where it is unknown, and for work on all organizations
	Actor        Actor  // "" for workers, sweepers and calls that take no Actor

	// Object is the ID of the object that it happened to: an event, an API key, a vault, a
	// client, an invitation, a token, a dataset, a video, a run. "" without an object.
	Object string

	Attempt  int           // of an event or a run, from 1; 0 outside of attempts
	Items    int           // of a batch of a vault
	Duration time.Duration // of the call, or of the attempt

	// Wait is how long the object waited before: for its first attempt since it was
	// due (KindStarted), or overdue (KindSwept). For KindRetrying it is the
	// time until the next attempt.
	Wait time.Duration

	// Err is nil if the thing was done. Err of a failed attempt is the host's own error.
	// Reason classes Err for metrics.
	Err    error
	Reason Reason

	// Detail holds more for some services: the *authmgmt.AuditEvent of a change in
	// authmgmt, the vault.Progress of a step of a rotation, and an audiosearch.Detail for
	// all of audiosearch. Else it is nil.
	Detail any
}

// Reason classes the error of an [Observation]. The list is closed, so that a metric can
// have it as a label.
type Reason string

// The reasons. The zero Reason: no error.
const (
	ReasonInvalid     Reason = "invalid"     // the argument; see [ValidationError]
	ReasonNotFound    Reason = "not_found"   // see [ErrNotFound]
	ReasonForbidden   Reason = "forbidden"   // the caller's credentials, or their roles
	ReasonConflict    Reason = "conflict"    // the state of the object; [ErrExists], too
	ReasonDeleted     Reason = "deleted"     // see [ErrDeleted]
	ReasonLimit       Reason = "limit"       // too much, or too many
	ReasonCorrupt     Reason = "corrupt"     // stored data cannot be read
	ReasonUnavailable Reason = "unavailable" // see [ErrUnavailable]
	ReasonTimeout     Reason = "timeout"     // of an attempt
	ReasonFailed      Reason = "failed"      // any other error: as a rule the host's own
)

// Kind is the sort of an Observation.
type Kind string

// The kinds of package trigger, and of the runs of package audiosearch.
const (
	KindSubmitted  Kind = "submitted"  // accepted as a new event or run
	KindReplayed   Kind = "replayed"   // answered with an earlier event of the same idempotency key
	KindRefused    Kind = "refused"    // an event was not accepted: Err says why
	KindStarted    Kind = "started"    // an attempt begins
	KindRetrying   Kind = "retrying"   // an attempt failed or was cut off, another one follows
	KindCompleted  Kind = "completed"  // an event
	KindFailed     Kind = "failed"     // an event was given up: a dead letter
	KindRetried    Kind = "retried"    // an event was sent back to the queue by a caller
	KindSwept      Kind = "swept"      // the sweeper queued an event that had no job
	KindTerminated Kind = "terminated" // a run ended; Err is nil if it succeeded
	KindCancelled  Kind = "cancelled"  // a caller asked for the end of a run, or ended an event

	KindKeyIssued  Kind = "key_issued"  // an API key was issued or imported
	KindKeyRevoked Kind = "key_revoked" // an API key was revoked, for the first time
)

// The kinds of organizations, in all packages.
const (
	KindOrganizationUpdated Kind = "organization_updated"
	KindOrganizationDeleted Kind = "organization_deleted" // marked as deleted
)

// The kinds of package vault. Changes, and values that are shown, have an audit event. A
// call that failed has the Kind of one that succeeded, and an Err.
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

	// Progress of a step of a rotation: at its begin, and about once a second.
	KindBackfilling Kind = "backfilling"
	KindRewrapping  Kind = "rewrapping"
	KindKeyRetiring Kind = "key_retiring"
)

// The kinds of package authmgmt: changes, which have an audit event, and the last four,
// refusals and failures.
const (
	KindClientCreated  Kind = "client_created"
	KindClientUpdated  Kind = "client_updated"
	KindSecretRotated  Kind = "client_secret_rotated"
	KindSecretRevoked  Kind = "client_secret_revoked"
	KindClientDeleted  Kind = "client_deleted"
	KindTokenIssued    Kind = "token_issued"
	KindTokenRevoked   Kind = "token_revoked"
	KindInvited        Kind = "invitation_created"
	KindResent         Kind = "invitation_resent"
	KindUninvited      Kind = "invitation_cancelled"
	KindAccepted       Kind = "invitation_accepted"
	KindGranted        Kind = "invitation_granted"
	KindLoginRefused   Kind = "login_refused"   // no organization is known
	KindTokenRefused   Kind = "token_refused"   // a token that is unknown, expired or revoked
	KindGrantFailed    Kind = "grant_failed"    // Err is the host's own; it is tried again
	KindDeliveryFailed Kind = "delivery_failed" // Err is the host's own; resend the invitation
)

// The kinds of package audiosearch, beside the kinds of runs.
const (
	KindDatasetCreated Kind = "dataset_created"
	KindDatasetDeleted Kind = "dataset_deleted"
	KindSearched       Kind = "searched"     // a search in process; Err, if it failed
	KindIngesting      Kind = "ingesting"    // a video is being scored; about once a second
	KindScoring        Kind = "scoring"      // progress of an Ingest; about once a second
	KindIngested       Kind = "ingested"     // a video was scored; Err, if there is one, says why not all of it
	KindUnchanged      Kind = "unchanged"    // the scores of a video are those of its file; Err as above
	KindNotIngested    Kind = "not_ingested" // a video could not be scored: Err says why
)
