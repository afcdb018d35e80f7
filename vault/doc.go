// Package vault hands out tokens for sensitive values: texts that can be passed on,
// joined and indexed in place of an email address or a card number, and that only the
// vault can turn back.
//
// [New] makes a [Service] over a [Backend] and a [keyring.Keyring]: that of package
// localkeys, of module vault/tink, or your own. A vault has a [Schema] of tables and
// columns. [Service.Insert] stores values and returns their tokens. [Service.Tokenize]
// returns the tokens of values that are there, and never stores one. [Service.Detokenize]
// shows as much of a value as its caller allows, and writes who saw it to an audit trail.
// A value of a deterministic column has one token, for as long as it is stored.
//
// # What is stored
//
// A token is a random text. It is stored beside the value, which is sealed (authenticated
// encryption) for this token and no other place, and found by the value's fingerprint, a
// keyed digest. Fingerprints and seals have different keys. Organizations, vaults and
// scopes have different fingerprints of the same value, so nobody can tell that it is the
// same.
//
// # Rotating the keys
//
// Because tokens are stored and not computed, they never change: not when keys do. A new
// version of the keys comes in five steps. Each can be done while the vaults are in use,
// and repeated when it was cut off.
//
//  1. Load the new version beside the old one, for lookups only, in every process.
//  2. [Service.Backfill] gives each value a fingerprint of the new version.
//  3. Make the new version the primary one, in every process.
//  4. [Service.Rewrap] seals each value with the new version.
//  5. [Service.Retire] forgets the old version, for each [keyring.Purpose]. Then no
//     process needs to load it any more.
//
// A Service keeps the keyring that it was made with. To load a version, or to make it the
// primary one, means to start the process anew with another keyring.
//
// The store knows which versions there are. A key that is not the one that the store
// began with is refused, and so is a process that lacks a version that the others rely
// on, before it can give a value a second token.
//
// Backfill, Rewrap and Retire tell the [mortise.Observer], when they begin and about
// once a second, how many values are done, how many there are, and how long the rest
// takes.
//
// [Service.KeyUsage] counts everything that is stored under each version, to the end: what
// Backfill has done, and how much Rewrap and Retire have still to do.
//
// # Service.Run
//
// A host that sets Options.Retention runs [Service.Run] in one process at least.
//
// # Moving from another vault
//
// [Service.Import] takes values with the tokens that they have elsewhere, so that the
// tables which hold these tokens stay as they are. Give the columns formats that the
// tokens fit (see [format.Standard], or write a [format.Tokenizer]), and import page by
// page, each of at most as many items as [Service.Limits] says. A page is stored as a
// whole or not at all. After an error that is [mortise.ErrUnavailable], repeat the
// page: what is there already is passed over. If a page is refused, a [*BatchError]
// names the items to blame by their index; leave them out, and import the others.
//
// # Deleting
//
// [Service.Delete] forgets the value of one token. [Service.DeleteVault] deletes a vault,
// and [Service.DeleteOrganization] all that is kept of an organization. Both mark first,
// and from then on nothing of it can be read or made, on any server that shares the
// store; then they remove what there is, one step a call: call them until they report no
// more. The ID of what was deleted is not given again, so a token that somebody still has
// never stands for a value of somebody else. A rotation of the keys does not wait for
// what is marked, and needs no key for it.
//
// # For applications
//
// The service: [New], [Service], [Backend], [Options], [Limits].
//
// Package mortise has the names of all domains: Env, Actor, Observer, Observation, Kind,
// MaxPageSize, Page, Cursor, and the errors ErrNotFound, ErrExists, ErrDeleted,
// ErrUnavailable and ValidationError.
//
// Vaults: [Vault], [Schema], [Table], [Column], [Tokenization]. The formats that a Column
// may have: [format.Standard].
//
// What goes in: [Item], of a [Place] ([InColumn], [InGroup]) and a [Value] ([NewValue]);
// [ImportItem]; [DetokenizeItem].
//
// What comes out: [Revealed], as far as its [Redaction] allows. A [RedactionPolicy] says
// for each [Field] what may be shown.
//
// The audit trail: [AuditEvent], [AuditToken], by [AuditQuery].
//
// Rotating the keys: [keyring.Purpose], [keyring.Key], [keyring.Usage], [Progress].
//
// Errors: [ErrScopeInUse], [ErrFull]; of a batch [BatchError], [ItemError],
// and what they wrap: a [Reason] such as ErrTokenNotFound, a [format.Error],
// [format.ErrMismatch], [format.ErrExhausted], or a [TokenError]. Of keys:
// [keyring.ErrWrongKey], [keyring.ErrUnknownKey], [keyring.ErrCorrupt],
// [keyring.ErrRetired], [keyring.ErrInUse].
//
// # For backends
//
// A [Store] is made of [Vaults], [Deletion], [Tokens], [Imports], [Keys], [KeyRotation]
// and [Audit]. It keeps each [Row], finds it by a [Lookup] of what a
// [VersionedFingerprint] holds, and remembers each [PastColumn]. Its errors are
// [ErrConflict], [TakenError], and those above.
//
// A rotation changes rows by [RowID], [RowFingerprint] and [Resealed].
//
// Package vaulttest proves a backend. Authors of keyrings read package keyring, those of
// tokenizers package format.
package vault
