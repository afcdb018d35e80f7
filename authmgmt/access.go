// Package authmgmt says who may do what. So far it holds the vocabulary that the other services are authorized with: an [Action]
// on a [Resource], allowed or not by an [Access].
package authmgmt

// Action is something that a caller asks to do, named by its operation (the operationId of the OpenAPI document).
type Action string

// The actions of the documentation triggers.
const (
	ActionSubmitTrigger Action = "submitApiTrigger"
	ActionGetTrigger    Action = "getTrigger"
	ActionListTriggers  Action = "listTriggers"
)

// Resource is what an action is done to. An empty ID means all resources of the type, an empty Type the organization as a whole.
type Resource struct {
	Type string // "trigger", "dataset", ...
	ID   string
}

// Access is what a caller is allowed. Its zero value allows nothing.
type Access struct {
	full bool
}

// FullAccess allows everything within the organization.
func FullAccess() Access { return Access{full: true} }

// Full reports whether a allows everything.
func (a Access) Full() bool { return a.full }

// Allows reports whether a allows the action on the resource.
func (a Access) Allows(Action, Resource) bool { return a.full }
