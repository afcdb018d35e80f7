package access

import (
	"fmt"
	"slices"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// Action is something that a caller asks to do, named by its operation (the operationId
// of the OpenAPI document). A host may have actions of its own.
type Action string

// AnyAction stands for all actions in a catalogue, those of the host's own included.
const AnyAction Action = "*"

// The actions on documentation triggers, a [Resource] of type [Trigger]. An API key allows
// all but the last one: see [APIKey].
const (
	SubmitTrigger  Action = "submitApiTrigger"
	GetTrigger     Action = "getTrigger"
	ListTriggers   Action = "listTriggers"
	CancelTrigger  Action = "cancelTrigger"
	RetryTrigger   Action = "retryTrigger"
	RunTrigger     Action = "runTrigger"
	ChangeTriggers Action = "changeTriggers" // cancel or retry any number of them
)

// The actions on a vault, a [Resource] of type [Vault].
const (
	Tokenize      Action = "tokenize"
	InsertRecords Action = "insertRecords"
	Detokenize    Action = "detokenize"      // masked or redacted values
	Reveal        Action = "detokenizePlain" // plain values
	DeleteToken   Action = "deleteToken"

	// ImportTokens is to store values under tokens that were given elsewhere. No
	// operation over HTTP has it. A host whose own handler imports (vault.Service.Import)
	// asks [Access.Allows] first: who imports learns which values have tokens.
	ImportTokens Action = "importTokens"
)

// The actions on a dataset, a [Resource] of type [Dataset].
const (
	SearchSound Action = "searchAudioSound"
	GetRun      Action = "getSearchRunStatus"
	GetResults  Action = "getSearchRunResult"
	CancelRun   Action = "cancelSearchRun"
)

// The actions on clients, a [Resource] of type [Client].
const (
	CreateClient Action = "createClient"
	ListClients  Action = "listClients"
	GetClient    Action = "getClient"
	UpdateClient Action = "updateClient"
	RotateSecret Action = "rotateClientSecret"
	ListSecrets  Action = "listClientSecrets"
	RevokeSecret Action = "revokeClientSecret"
	DeleteClient Action = "deleteClient"
)

// The actions on access tokens, for those who may manage clients: the [Resource] is of
// type [Client], without an ID.
const (
	ListTokens  Action = "listTokens"
	RevokeToken Action = "revokeToken"
)

// The actions on invitations, a [Resource] of type [Invitation].
const (
	CreateInvitation Action = "createUserInvitation"
	ListInvitations  Action = "listUserInvitations"
	GetInvitation    Action = "getUserInvitation"
	ResendInvitation Action = "resendUserInvitation"
	DeleteInvitation Action = "deleteUserInvitation"
)

// knownActions: the actions of the library.
var knownActions = []Action{
	SubmitTrigger, GetTrigger, ListTriggers, CancelTrigger, RetryTrigger, RunTrigger, ChangeTriggers,
	Tokenize, InsertRecords, Detokenize, Reveal, DeleteToken, ImportTokens,
	SearchSound, GetRun, GetResults, CancelRun,
	CreateClient, ListClients, GetClient, UpdateClient, RotateSecret, ListSecrets, RevokeSecret, DeleteClient,
	ListTokens, RevokeToken,
	CreateInvitation, ListInvitations, GetInvitation, ResendInvitation, DeleteInvitation,
}

// problem describes an invalid action of a catalogue, or returns "". A name that
// the library does not have is the host's, unless it is nearly one of the library's.
func (a Action) problem() string {
	if a == AnyAction || slices.Contains(knownActions, a) {
		return ""
	}
	if problem := name.Problem(string(a)); problem != "" {
		return problem
	}
	if near := name.Nearest(string(a), knownActions); near != "" {
		return fmt.Sprintf("does not exist: did you mean %q?", near)
	}
	return ""
}
