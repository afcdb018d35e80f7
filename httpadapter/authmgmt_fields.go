package httpadapter

import (
	"errors"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// givenRole is a role assignment of a body that is valid by itself, and the object that
// it stands in.
type givenRole struct {
	authmgmt.Role
	item *object
}

// roles reads a field of role assignments. Absent, null and empty are all none.
func (a *authMgmtAdapter) roles(o *object) []givenRole {
	var given []givenRole
	o.list("roles", nullable, listRule{max: authmgmt.MaxRoles}, func(_ int, item *object) {
		if r, ok := a.role(item); ok {
			given = append(given, givenRole{r, item})
		}
	})
	return given
}

// role reads a role assignment, and reports whether it is valid.
func (a *authMgmtAdapter) role(item *object) (r authmgmt.Role, valid bool) {
	valid = true
	field := func(name string, p presence, into *string) {
		before := len(item.d.details)
		*into, _ = item.text(name, p, textRule{min: 1})
		if valid = valid && len(item.d.details) == before; !valid {
			return
		}
		var wrong authmgmt.Problem
		if errors.As(a.service.Catalogue().Check(r), &wrong) { // of this field: those before it are fine
			item.refuseValue(name, wrong.Message)
			valid = false
		}
	}
	field("role_id", required, &r.ID)
	field("resource", nullable, &r.Resource)
	field("resource_instance", nullable, &r.ResourceInstance)
	return r, valid
}

func plainRoles(given []givenRole) []authmgmt.Role {
	roles := make([]authmgmt.Role, len(given))
	for i, g := range given {
		roles[i] = g.Role
	}
	return roles
}

// name reads a field that holds a name: 1 to 255 code points, and what package authmgmt
// demands of names.
func (a *authMgmtAdapter) name(o *object, field string, p presence) (string, bool) {
	text, ok := o.text(field, p, textRule{min: 1, max: 255})
	if !ok {
		return "", false
	}
	if problem := name.Problem(text); problem != "" {
		o.refuseValue(field, problem)
		return "", false
	}
	return text, true
}

// rolesContext reads the field of that name. Absent and null mean all roles.
func rolesContext(o *object) authmgmt.RolesContext {
	text, ok := o.text("roles_context", nullable, textRule{})
	if !ok {
		return authmgmt.RolesContext{}
	}
	c, err := authmgmt.ParseRolesContext(text)
	if err != nil {
		o.refuseValue("roles_context", err.Error())
	}
	return c
}

// bind notes every role that contradicts the context. It is called after the fields, as
// pydantic looks at a model after its fields.
func bind(c authmgmt.RolesContext, given []givenRole) {
	for _, g := range given {
		var wrong authmgmt.Problem
		if _, err := c.Bind(g.Role); errors.As(err, &wrong) {
			g.item.refuseValue(wrong.Path.String(), wrong.Message)
		}
	}
}
