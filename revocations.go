package mortise

import (
	"context"
	"slices"
	"time"
)

// Revocations is how much was taken away in a database, in all domains. A host keeps the largest N
// that it has seen of a Database outside of it. A smaller N in the same Database says that a backup
// was put back, or that a standby which had not heard everything was promoted: then all that was
// taken away since is there again.
type Revocations struct {
	Database string // a random text, made with the tables; a backup has the same one
	N        int64
	Last     time.Time // of the latest call that made N larger and has a time; or zero
}

// RevocationCounter is an optional ability of a Store of a database that can be restored from a
// backup; each Store of storage/sqlite and storage/postgres has it. A call that takes something
// away makes N larger, in its own transaction: a call with an audit event of a Kind that takes away
// ([Kind.TakesAway]), the revocation of an API key, the deletion of a dataset or of an
// organization. The deletion of a video does not: the next scan of its folder repeats it.
type RevocationCounter interface {
	Revocations(ctx context.Context) (Revocations, error)

	// RaiseRevocations makes N n, if it is smaller.
	RaiseRevocations(ctx context.Context, n int64) error
}

// TakesAway reports whether calls of a kind take something away: a credential, a role, an
// invitation, a value, an organization. Observations of such kinds that have no Err come after
// [Revocations] has another N, but for the settings of package trigger's organizations, which take
// nothing away.
func (k Kind) TakesAway() bool { return slices.Contains(taking, k) }

var taking = []Kind{
	KindClientUpdated, KindSecretRotated, KindSecretRevoked, KindClientDeleted, KindTokenRevoked, KindResent, KindUninvited, KindAccepted,
	KindOrganizationUpdated, KindOrganizationDeleted, KindKeyRevoked, KindDeleted, KindVaultDeleted, KindDatasetDeleted,
}
