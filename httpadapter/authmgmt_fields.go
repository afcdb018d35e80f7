package httpadapter

import (
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// givenRole is a role assignment of a body that is valid by itself, and the object that
// it stands in.
type givenRole struct {
	access.Role
	item *object
}

// maxRoles is how many roles a client or an invitation can have, as package authmgmt has
// it.
const maxRoles = 100

// roles reads a field of role assignments. Absent, null and empty are all none.
func (a *authMgmtAdapter) roles(o *object) []givenRole {
	var given []givenRole
	o.list("roles", nullable, listRule{max: maxRoles}, func(_ int, item *object) {
		if r, ok := a.role(item); ok {
			given = append(given, givenRole{r, item})
		}
	})
	return given
}

// role reads a role assignment, and reports whether it is valid.
func (a *authMgmtAdapter) role(item *object) (r access.Role, valid bool) {
	valid = true
	field := func(name string, p presence, into func(text string)) {
		before := len(item.d.details)
		text, _ := item.text(name, p, textRule{min: 1})
		into(text)
		if valid = valid && len(item.d.details) == before; !valid {
			return
		}
		// The problem is one of this field: those before it are fine.
		if _, problem := a.service.Catalogue().Check(r); problem != "" {
			item.refuseValue(name, problem)
			valid = false
		}
	}
	field("role_id", required, func(text string) { r.ID = text })
	field("resource", nullable, func(text string) { r.Resource = access.ResourceType(text) })
	field("resource_instance", nullable, func(text string) { r.ResourceInstance = text })
	return r, valid
}

func plainRoles(given []givenRole) []access.Role {
	roles := make([]access.Role, len(given))
	for i, g := range given {
		roles[i] = g.Role
	}
	return roles
}

// name reads a field with a display name: 1 to 255 code points, by the rules of package
// authmgmt.
func (a *authMgmtAdapter) name(o *object, field string, p presence) (string, bool) {
	text, ok := o.text(field, p, textRule{min: 1, max: 255})
	if !ok {
		return "", false
	}
	if problem := name.DisplayProblem(text); problem != "" {
		o.refuseValue(field, problem)
		return "", false
	}
	return text, true
}

// rolesContext reads the field of that name. Absent and null mean all roles.
func rolesContext(o *object) access.RolesContext {
	text, ok := o.text("roles_context", nullable, textRule{})
	if !ok {
		return ""
	}
	var c access.RolesContext
	if err := c.UnmarshalText([]byte(text)); err != nil {
		o.refuseValue("roles_context", err.Error())
	}
	return c
}

// noContext refuses roles_context, which the update of a client alone takes: passed over, the
// roles beside it would hold everywhere.
func noContext(o *object) {
	if v, given := o.v.Get("roles_context"); given && !isNull(v) {
		o.refuseValue("roles_context", "is for the update of a client; give each role its resource and resource_instance")
	}
}

// bind notes every role that contradicts the context. It is called after the fields, as
// pydantic looks at a model after its fields.
func bind(c access.RolesContext, given []givenRole) {
	for _, g := range given {
		if field, problem := c.Check(g.Role); problem != "" {
			g.item.refuseValue(field, problem)
		}
	}
}
