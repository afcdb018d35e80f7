package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// AuthMgmt implements [authmgmt.Store], [authmgmt.Pruner], [authmgmt.KeyChecker],
// [authmgmt.Organizations] and [mortise.HostTx].
type AuthMgmt struct {
	db *DB
	revoked
}

var (
	_ authmgmt.Store         = (*AuthMgmt)(nil)
	_ authmgmt.Pruner        = (*AuthMgmt)(nil)
	_ authmgmt.Restorable    = (*AuthMgmt)(nil)
	_ authmgmt.KeyChecker    = (*AuthMgmt)(nil)
	_ authmgmt.Organizations = (*AuthMgmt)(nil)
	_ mortise.HostTx         = (*AuthMgmt)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (a *AuthMgmt) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return a.db.afterCommit(ctx, f)
}

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

// clone returns tables with copies of all that is changed in place.
func (t *authmgmtTables) clone() authmgmtTables {
	clients, tokens, invitations := make(copies[authmgmt.Client]), make(copies[authmgmt.Token]), make(copies[authmgmt.Invitation])
	return authmgmtTables{
		clients:       mapped(t.clients, clients.of),
		secrets:       maps.Clone(t.secrets),
		clientList:    mapped(t.clientList, clients.all),
		tokens:        mapped(t.tokens, tokens.of),
		tokenList:     mapped(t.tokenList, tokens.all),
		clientTokens:  mapped(t.clientTokens, tokens.all),
		tokenIDs:      maps.Clone(t.tokenIDs),
		invitations:   mapped(t.invitations, invitations.of),
		inviteList:    mapped(t.inviteList, invitations.all),
		audit:         mapped(t.audit, slices.Clone),
		organizations: maps.Clone(t.organizations),
		deleted:       maps.Clone(t.deleted),
		keyChecks:     t.keyChecks,
	}
}

// ownedID is an ID that is unique within its organization.
type ownedID struct{ org, id string }
