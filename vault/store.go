package vault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Store keeps vaults, tokens, the audit trail and what is known of the keys, in one
// database.
//
// Every method is safe for concurrent use, and atomic: another caller sees all of its
// effect or none. A call that returned without error is durable, as far as the backend
// is. A call whose ctx has ended, or ends meanwhile, has its effect as a whole or not at all,
// and its error is not a sentinel of this package, of package keyring or of package mortise.
//
// Arguments and results are the receiver's own: a Store copies what it keeps and what it
// returns. Times keep microseconds and are UTC. Strings are UTF-8 without U+0000, keep every
// byte, and are compared as bytes. What belongs to another organization reads as what does
// not exist. Any error but
// the sentinels of this package and of packages keyring and mortise means "unavailable":
// the caller may try again. An error never holds a fingerprint or a ciphertext.
//
// An audit event without ID is none, and is not stored.
type Store interface {
	Vaults
	Deletion
	Tokens
	Imports
	Keys
	KeyRotation
	Audit
}

// Vaults is the part of a [Store] that keeps vaults.
type Vaults interface {
	// Vault returns a vault, or [mortise.ErrNotFound].
	Vault(ctx context.Context, org, id string) (Vault, error)

	// ListVaults returns a page of the organization's vaults, by ID, as bytes. An unknown
	// organization has none.
	ListVaults(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[Vault], error)

	// PutVault stores v and the audit event. If v.Revision is 1, it is a new vault:
	// [mortise.ErrExists] if there is one, [mortise.ErrDeleted] if there was one that
	// was deleted, or if the organization was. Else it takes the place of the stored
	// one, whose Revision must be one less: [ErrConflict] if it is another,
	// [mortise.ErrNotFound] if there is none. CreatedAt does not change then. The error
	// is [ErrScopeInUse], and nothing changes, if one of the scopes of the vault that
	// left names has a deterministic row that is not deleted.
	PutVault(ctx context.Context, v Vault, left []string, a AuditEvent) error
}

// PastColumn is a column of a vault at some time.
type PastColumn struct {
	Table  string `json:"table"`
	Column string `json:"column"`
	Group  string `json:"column_group,omitempty"`
}

// Deletion is the part of a [Store] that deletes vaults, and all that an organization
// has.
//
// Each is marked first, and then removed in steps. From the mark on, for everybody who
// shares the store, a vault reads as what does not exist, in every method, and so does
// all that an organization has: of its audit trail there is just the event that came with
// its mark. The trail of a deleted vault is its organization's, and stays.
//
// Nothing can be made again: [Vaults.PutVault] of a new vault is [mortise.ErrDeleted]
// if one of its ID or its organization is marked, and [Audit.AddAuditEvent] is
// [mortise.ErrNotFound] for an event of a vault or an organization that is marked.
// Everything else returns what it returns where there is nothing.
//
// The rows of a vault that is marked, or whose organization is, have no part in [Keys] and
// [KeyRotation], whether they are removed or not: no scan returns them, nothing counts or
// changes them, and no key is in use for them. A scan that is open goes on as if they had
// been deleted.
//
// A mark stays for ever, with its time, but for those of an organization's vaults: once
// the organization is marked, the steps may remove them.
type Deletion interface {
	mortise.Remover

	// MarkDeleted marks an organization as deleted and stores the audit event, unless it
	// is marked already: then it changes nothing. It returns the time of the mark, which
	// is at for a new one. The organization need not have anything.
	MarkDeleted(ctx context.Context, org string, at time.Time, a AuditEvent) (since time.Time, err error)

	// MarkVaultDeleted marks a vault as MarkDeleted does. The error is
	// [mortise.ErrNotFound] if there was no such vault ever, or if the organization is
	// marked.
	MarkVaultDeleted(ctx context.Context, org, vault string, at time.Time, a AuditEvent) (since time.Time, err error)

	// RemoveDeletedVault removes what is kept of a vault that is marked, as
	// RemoveDeleted does. The error is [mortise.ErrNotFound] if the vault is not
	// marked, or if the organization is.
	RemoveDeletedVault(ctx context.Context, org, vault string, limit int) (n int, more bool, err error)
}

// Tokens is the part of a [Store] that keeps tokens. A token is unique within its vault,
// and is never given again, not even after it was deleted.
type Tokens interface {
	// FindTokens returns the tokens of fingerprints: for each lookup a slice as long as
	// its Fingerprints, with "" where there is none. What it finds under a retired
	// version is left open. The slices are the caller's. The error is
	// [mortise.ErrNotFound] if there is no such vault, and [ErrConflict] if its
	// revision is another.
	FindTokens(ctx context.Context, org, vault string, revision int64, lookups []Lookup) ([][]string, error)

	// InsertTokens stores rows, all or none, and returns a token for each. A row with
	// fingerprints, one of which is stored in its scope already or belongs to an earlier
	// row of the call that is stored, is not stored: the token is the one that is there.
	// (Of several, the one of the first fingerprint counts.) That token gets the
	// fingerprints of versions that it has none of, but for those that are another
	// token's.
	//
	// The error is [mortise.ErrNotFound] or [ErrConflict] as for FindTokens;
	// [keyring.ErrUnknownKey] if a row with fingerprints lacks one of a version that is
	// required ([keyring.Key.Required]); and [keyring.ErrRetired] if a row is sealed
	// under a version that is retired. Fingerprints of a retired version count for
	// nothing and are not stored. The error is a [*TakenError] if the tokens of rows that
	// would be stored are there already, deleted ones included, or are those of earlier
	// rows of the call that would be. A store that bounds what an organization keeps
	// returns [ErrFull] when the bound is reached. If several of these apply, the error
	// is any one of them.
	InsertTokens(ctx context.Context, org, vault string, revision int64, rows []Row) ([]string, error)

	// Rows returns the rows of tokens, in their order, without Fingerprints. For a
	// token that does not exist, or was deleted, the Row is zero. If a ciphertext is
	// longer than keyring.MaxCiphertext, because another program has stored it, the
	// Row's ciphertext is empty. The error is [mortise.ErrNotFound] if the vault does
	// not exist.
	Rows(ctx context.Context, org, vault string, tokens []string) ([]Row, error)

	// ListRows returns a page of the rows of a vault, by token (as bytes), without
	// Fingerprints and without the rows that were deleted. The error is
	// [mortise.ErrNotFound] if there is no such vault.
	ListRows(ctx context.Context, org, vault string, after mortise.Cursor, limit int) (mortise.Page[Row], error)

	// DeleteToken forgets the value and the fingerprints of a token, and stores the audit
	// event. The error is [ErrTokenNotFound] if there is no such vault or token, or if
	// the token was deleted before.
	DeleteToken(ctx context.Context, org, vault, token string, a AuditEvent) error
}

// Imports is the part of a [Store] that takes tokens which were given elsewhere.
type Imports interface {
	// ImportTokens stores rows under the tokens that they bring, all or none, and the
	// audit event, in one step. A row whose token is there with the same Scope,
	// Deterministic and Sealed is not stored again: what is there gets the fingerprints
	// of versions that it has none of.
	//
	// If rows contradict what is stored, or each other, the error is a [*TakenError],
	// and nothing changes. A row does so if its token stands for something else or was
	// deleted, if one of its fingerprints is stored in its scope as another token's, or
	// if its token or one of its fingerprints belongs to an earlier row of the call.
	// [mortise.ErrNotFound], [ErrConflict], [keyring.ErrUnknownKey],
	// [keyring.ErrRetired] and [ErrFull] are as for InsertTokens, and fingerprints of a
	// retired version count for nothing here, too. If several of these apply, the error
	// is any one of them.
	ImportTokens(ctx context.Context, org, vault string, revision int64, rows []Row, a AuditEvent) error
}

// Audit is the part of a [Store] that keeps the audit trail. Nothing changes an event.
type Audit interface {
	// AddAuditEvent stores an event. The error is [mortise.ErrNotFound] if its
	// Organization or its Vault was deleted, see [Deletion].
	AddAuditEvent(ctx context.Context, e AuditEvent) error

	// ListAuditEvents returns the events that match q, newest first: by At, then by ID
	// (as bytes), both descending.
	ListAuditEvents(ctx context.Context, org string, q AuditQuery) (mortise.Page[AuditEvent], error)

	// PruneAudit removes events with At before the given time, of all organizations. It is
	// maintenance, and a bounded step, see package storage.
	PruneAudit(ctx context.Context, before time.Time, limit int) (n int, more bool, err error)
}

// Row is a stored token.
type Row struct {
	Organization  string
	Vault         string
	Token         string
	Scope         string // Scope.Name
	Deterministic bool   // has fingerprints
	Sealed        keyring.Sealed
	CreatedAt     time.Time
	Fingerprints  []VersionedFingerprint // none if not Deterministic; of different versions

	// Place is where the store has the row, in a scan of [KeyRotation] only: a hint, with which
	// AddFingerprints and Reseal need not look for the row by its token. Only the store
	// that made it knows what it says. With a place of another row, or of none, they do
	// the same to the row that is named, only not as fast. 0: a store need not have any.
	Place int64
}

// ID says which row it is.
func (r *Row) ID() RowID { return RowID{r.Organization, r.Vault, r.Token} }

// Clone returns a copy that shares nothing with r.
func (r *Row) Clone() Row {
	c := *r
	c.Sealed.Ciphertext = append([]byte(nil), r.Sealed.Ciphertext...)
	c.Fingerprints = append([]VersionedFingerprint(nil), r.Fingerprints...)
	return c
}

// scope returns the row's scope.
func (r *Row) scope() keyring.Scope {
	return keyring.Scope{Organization: r.Organization, Vault: r.Vault, Name: r.Scope}
}

// RowID says which row.
type RowID struct{ Organization, Vault, Token string }

// VersionedFingerprint is a fingerprint and the version of the key that made it.
type VersionedFingerprint struct {
	Version     int
	Fingerprint keyring.Fingerprint
}

// Lookup asks for the tokens of some fingerprints.
type Lookup struct {
	Scope        string // Scope.Name
	Version      int
	Fingerprints []keyring.Fingerprint
}

// ErrConflict is what a [Store] returns if a vault's revision is not the one that the
// caller knows: somebody else changed the schema. A Service reads the vault and tries
// again.
var ErrConflict = errors.New("vault: the schema was changed by somebody else")

// TakenError is what [Tokens.InsertTokens] and [Imports.ImportTokens] return if tokens
// cannot be given. For an insertion, a [Service] makes other tokens and tries again; for
// an import, it finds out which items are to blame.
type TakenError struct {
	Rows []int // the rows of the call whose tokens are taken, in order
}

// Error says how many there are.
func (e *TakenError) Error() string { return fmt.Sprintf("vault: %d tokens are taken", len(e.Rows)) }
