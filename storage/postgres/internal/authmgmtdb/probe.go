package authmgmtdb

import "github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"

// Probe has statements whose plans the tests of the whole look at. Nothing else uses it.
var Probe = struct {
	UpdateClientAlone, LockToken string
	Shared                       map[*engine.Shared]string // with a pattern that the plan must match
}{
	updateAndAudit.One, lockToken,
	map[*engine.Shared]string{
		updateAndAudit: `authmgmt_clients_pkey[^\n]*\n *Index Cond: \(id = ANY \(ARRAY\[r(_\d+)?.client\]\)\)`,
	},
}
