package memory

import (
	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// AuthMgmt implements [authmgmt.Store], [authmgmt.Pruner], [authmgmt.KeyChecker] and
// [authmgmt.Organizations].
type AuthMgmt struct{ db *DB }

var (
	_ authmgmt.Store         = (*AuthMgmt)(nil)
	_ authmgmt.Pruner        = (*AuthMgmt)(nil)
	_ authmgmt.KeyChecker    = (*AuthMgmt)(nil)
	_ authmgmt.Organizations = (*AuthMgmt)(nil)
)

// authmgmtTables is what the domain authmgmt keeps.
type authmgmtTables struct {
	clients       map[ownedID]*authmgmt.Client  // deleted ones included
	secrets       map[[32]byte]ownedID          // clients by the digests of their secrets
	clientList    placedLists[*authmgmt.Client] // those that are not deleted
	tokens        map[[32]byte]*authmgmt.Token  // by digest
	tokenList     placedLists[*authmgmt.Token]
	clientTokens  map[ownedID][]*authmgmt.Token // the oldest first
	tokenIDs      map[uuid.UUID][32]byte        // the digests of tokens
	invitations   map[ownedID]*authmgmt.Invitation
	inviteList    placedLists[*authmgmt.Invitation]
	audit         trails[authmgmt.AuditEvent, *authmgmt.AuditEvent]
	organizations map[string]authmgmt.Organization
	deleted       map[string]tombstone // organizations that were deleted
	keyChecks     [][32]byte
}

// ownedID is an ID that is unique within its organization.
type ownedID struct{ org, id string }
