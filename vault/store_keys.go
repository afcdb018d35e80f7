package vault

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Keys is the part of a [Store] that knows which versions of keys there are. They belong
// to the installation: no organization is asked for.
type Keys interface {
	// Keys returns all that are known, by purpose, then version.
	Keys(ctx context.Context) ([]keyring.Key, error)

	// RegisterKey stores Purpose, Version and Check of k, neither required nor retired,
	// unless the version is known, and returns what is stored. The first fingerprint
	// version of all becomes required.
	RegisterKey(ctx context.Context, k keyring.Key) (keyring.Key, error)

	// RequireKey makes a fingerprint version required. The error is
	// [keyring.ErrUnknownKey] if it is not known, [keyring.ErrRetired] if it is retired.
	RequireKey(ctx context.Context, version int) error

	// RetireKey retires a version; a retired fingerprint version is not required any
	// more. The error is [keyring.ErrUnknownKey] if the version is not known;
	// [keyring.ErrInUse] if it is a fingerprint version and the successor is not another
	// one that is required, or if it is a version that seals and a row that is not
	// deleted is sealed under it. For a key that seals, successor means nothing. To
	// retire a retired one does nothing.
	RetireKey(ctx context.Context, p keyring.Purpose, version, successor int) error

	// KeyUsage counts what is stored under the versions of keys. It may take a while, and
	// need not be of one moment.
	KeyUsage(ctx context.Context) (keyring.Usage, error)
}

// KeyRotation is the part of a [Store] that changes keys under rows. Rows that were
// deleted have no part in it. It is maintenance, over all organizations.
//
// RowsWithoutFingerprint and RowsNotSealedUnder scan: they are lists, see package storage,
// of all organizations. A scan returns each row once that exists and is selected from its
// beginning to its end, without Fingerprints, in the order in which the store reads rows
// fastest. A row that comes, goes or changes meanwhile comes once or not at all. The rows
// of a page existed, and were selected, when the page was asked for.
//
// A page may hold fewer rows than its limit, or none, though the scan goes on: so a store
// bounds the work of one call, and the memory that the rows take.
type KeyRotation interface {
	// RowsWithoutFingerprint returns a page of a scan of the deterministic rows that
	// have no fingerprint of the version: at most limit rows.
	RowsWithoutFingerprint(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[Row], error)

	// AddFingerprints stores a fingerprint of the version for each row that is still
	// there and has none. It returns the rows whose fingerprint is another row's of the
	// same scope; those stay without one. The error is [keyring.ErrRetired] if the
	// version is retired.
	AddFingerprints(ctx context.Context, version int, of []RowFingerprint) (refused []RowID, err error)

	// RowsNotSealedUnder returns a page of a scan of the rows that are sealed under
	// another version: at most limit rows.
	RowsNotSealedUnder(ctx context.Context, version int, after mortise.Cursor, limit int) (mortise.Page[Row], error)

	// Reseal stores To for each row that still has From, and returns how many those were.
	// The error is [keyring.ErrRetired] if the version of a To is retired; then it
	// changes nothing.
	Reseal(ctx context.Context, rows []Resealed) (changed int, err error)

	// RemoveFingerprints removes fingerprints of a version that is retired. It is a
	// bounded step, see package storage. The error is [keyring.ErrInUse] if the version is
	// not retired.
	RemoveFingerprints(ctx context.Context, version, limit int) (n int, more bool, err error)
}

// RowFingerprint is a fingerprint for a row that lacks it.
type RowFingerprint struct {
	Row         RowID
	Place       int64 // Row.Place, 0: not known
	Fingerprint keyring.Fingerprint
}

// Resealed is a new ciphertext for a row.
type Resealed struct {
	Row      RowID
	Place    int64 // Row.Place, 0: not known
	From, To keyring.Sealed
}
