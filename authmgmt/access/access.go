package access

import "slices"

// Access is what a caller is allowed. Its zero value allows nothing.
//
// Full access is not a role. It is what a stored credential without roles has, and it
// allows what no catalogue knows. An admin can do everything that the catalogue is about,
// but can neither give full access nor take it away.
type Access struct {
	full      bool
	key       bool // the access of an API key
	catalogue *Catalogue
	roles     []Role
}

// Full is the Access that allows everything within the organization.
func Full() Access { return Access{full: true} }

// keyActions are the actions that an API key allows.
var keyActions = []Action{SubmitTrigger, GetTrigger, ListTriggers, CancelTrigger, RetryTrigger, RunTrigger}

// APIKey is the Access of an API key of the triggers: submit, get, list, cancel, retry and
// run, one at a time, on all triggers of the organization. It has no roles, covers none, and
// no catalogue changes it.
func APIKey() Access { return Access{key: true} }

// Full reports whether a is full access.
func (a Access) Full() bool { return a.full }

// Roles returns the assignments that make up a: none for full access, for an API key and
// for no access.
func (a Access) Roles() []Role { return slices.Clone(a.roles) }

// Allows reports whether a allows the action on the resource.
func (a Access) Allows(action Action, resource Resource) bool {
	if a.full {
		return true
	}
	if a.key {
		return resource.Type == Trigger && slices.Contains(keyActions, action)
	}
	for _, r := range a.roles {
		if !resource.within(r.bound()) {
			continue
		}
		for _, allowed := range a.catalogue.roles[r.ID] {
			if allowed == AnyAction || allowed == action {
				return true
			}
		}
	}
	return false
}

// Covers reports whether a holds everything that a stored credential with these roles
// allows, so that a caller with a may give it away: of each role all actions, on all that it
// is bound to. No roles at all mean full access, which only full access covers.
func (a Access) Covers(roles []Role) bool {
	return a.covers(roles, func(Role) bool { return false })
}

// MayEnd reports whether a caller with a may take these roles away, or end a credential that
// has them: whether a covers each role that the catalogue has. The others allow nothing.
func (a Access) MayEnd(roles []Role) bool {
	return a.covers(roles, func(Role) bool { return len(a.roles) > 0 })
}

// MayTakeOver reports whether a caller with a may get a new secret of a credential that has
// these roles: whether a covers each role that the catalogue has, and allows [AnyAction] if
// there are further roles, which the catalogue of another program may have.
func (a Access) MayTakeOver(roles []Role) bool {
	return a.covers(roles, func(r Role) bool { return a.Allows(AnyAction, r.bound()) })
}

func (a Access) covers(roles []Role, unknown func(Role) bool) bool {
	if a.full {
		return true
	}
	for _, r := range roles {
		if !a.coversOne(r, unknown) {
			return false
		}
	}
	return len(roles) > 0
}

func (a Access) coversOne(r Role, unknown func(Role) bool) bool {
	if a.catalogue == nil {
		return false
	}
	actions, known := a.catalogue.roles[r.ID]
	if !known {
		return unknown(r)
	}
	for _, action := range actions {
		// AnyAction is asked for like an action: only a role that has it allows it.
		if !a.Allows(action, r.bound()) {
			return false
		}
	}
	return true
}
