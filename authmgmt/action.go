package authmgmt

// Action is something that a caller asks to do, named by its operation (the operationId of
// the OpenAPI document). A host may have actions of its own.
type Action string

// AnyAction stands for all actions in a catalogue, those of the host's own included.
const AnyAction Action = "*"

// The actions on documentation triggers, a [Resource] of type [ResourceTrigger]. A valid
// API key allows all of them.
const (
	ActionSubmitTrigger Action = "submitApiTrigger"
	ActionGetTrigger    Action = "getTrigger"
	ActionListTriggers  Action = "listTriggers"
)

// The actions on a vault, a [Resource] of type [ResourceVault].
const (
	ActionTokenize      Action = "tokenize"
	ActionInsertRecords Action = "insertRecords"
	ActionDetokenize    Action = "detokenize"      // masked or redacted values
	ActionReveal        Action = "detokenizePlain" // plain values
	ActionDeleteToken   Action = "deleteToken"

	// ActionImportTokens is to store values under tokens that were given elsewhere. No
	// operation over HTTP has it. A host whose own handler imports (vault.Service.Import)
	// asks [Access.Allows] first: who imports learns which values have tokens.
	ActionImportTokens Action = "importTokens"
)

// The actions on a dataset, a [Resource] of type [ResourceDataset].
const (
	ActionSearchSound Action = "searchAudioSound"
	ActionGetRun      Action = "getSearchRunStatus"
	ActionGetResults  Action = "getSearchRunResult"
	ActionCancelRun   Action = "cancelSearchRun"
)

// The actions on clients, a [Resource] of type [ResourceClient].
const (
	ActionCreateClient Action = "createClient"
	ActionListClients  Action = "listClients"
	ActionGetClient    Action = "getClient"
	ActionUpdateClient Action = "updateClient"
	ActionRotateSecret Action = "rotateClientSecret"
	ActionDeleteClient Action = "deleteClient"
)

// The actions on access tokens, for those who may manage clients: the [Resource] is of type
// [ResourceClient], without an ID.
const (
	ActionListTokens  Action = "listTokens"
	ActionRevokeToken Action = "revokeToken"
)

// The actions on invitations, a [Resource] of type [ResourceInvitation].
const (
	ActionCreateInvitation Action = "createUserInvitation"
	ActionListInvitations  Action = "listUserInvitations"
	ActionGetInvitation    Action = "getUserInvitation"
	ActionResendInvitation Action = "resendUserInvitation"
	ActionDeleteInvitation Action = "deleteUserInvitation"
)
