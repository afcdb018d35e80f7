package access

import (
	"errors"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// RolesContext is the part of a client's roles that an update replaces: all of them (""),
// [SystemRoles], or [DatasetRoles].
type RolesContext string

// SystemRoles are the roles that are bound to no resource.
const SystemRoles RolesContext = "system"

const ofDataset = "dataset:"

// DatasetRoles are the roles that are bound to one dataset.
func DatasetRoles(id string) RolesContext { return RolesContext(ofDataset + id) }

var errContext = errors.New("must be system or dataset:{dataset_id}")

// UnmarshalText reads "system" or "dataset:{dataset_id}", and nothing else.
func (c *RolesContext) UnmarshalText(text []byte) error {
	read := RolesContext(text)
	if id, ok := read.dataset(); read != SystemRoles && (!ok || name.Problem(id) != "") {
		return errContext
	}
	*c = read
	return nil
}

func (c RolesContext) dataset() (id string, ok bool) { return strings.CutPrefix(string(c), ofDataset) }

// Has reports whether a role is one of those that an update replaces.
func (c RolesContext) Has(r Role) bool {
	if c == SystemRoles {
		return r.Resource == ""
	}
	id, ok := c.dataset()
	return !ok || r.Resource == Dataset && r.ResourceInstance == id
}

// Check returns what contradicts the context in a role that is to be one of its roles: a
// field ("resource" or "resource_instance") and what it must be, or two empty texts if
// nothing does.
func (c RolesContext) Check(r Role) (field, problem string) {
	id, ok := c.dataset()
	switch {
	case c == SystemRoles && r.Resource != "":
		return "resource", "must be null for system-level roles"
	case !ok:
		return "", ""
	case r.Resource != "" && r.Resource != Dataset:
		return "resource", "must be dataset, or null, for the roles of a dataset"
	case r.ResourceInstance != "" && r.ResourceInstance != id:
		return "resource_instance", "must be the dataset of roles_context, or null"
	}
	return "", ""
}

// Bind returns a role, which Check finds nothing wrong with, as it is assigned within the
// context: one that names no resource is bound to the dataset.
func (c RolesContext) Bind(r Role) Role {
	if id, ok := c.dataset(); ok {
		r.Resource, r.ResourceInstance = Dataset, id
	}
	return r
}
