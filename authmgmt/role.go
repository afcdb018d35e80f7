package authmgmt

import (
	"errors"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// Role is the assignment of a role of the catalogue, to the whole organization, to one
// type of resource, or to one resource. Its JSON is that of audit events; over HTTP all
// three fields are always there.
type Role struct {
	ID               string `json:"role_id"`                     // a role of the catalogue: "admin", "editor", "viewer"
	Resource         string `json:"resource,omitempty"`          // the type of resource that it applies to; "" for all
	ResourceInstance string `json:"resource_instance,omitempty"` // the resource that it applies to; "" for all of the type
}

// bound returns what the role applies to.
func (r Role) bound() Resource { return Resource{Type: r.Resource, ID: r.ResourceInstance} }

// MaxRoles is how many roles a client or an invitation can have.
const MaxRoles = 100

// RolesContext is the part of a client's roles that an update replaces. Its zero value is
// all of them.
type RolesContext struct {
	kind    string // "", "system" or "dataset"
	dataset string
}

const (
	contextSystem  = "system"
	contextDataset = "dataset"
)

// SystemRoles is the context of the roles that are bound to no resource.
func SystemRoles() RolesContext { return RolesContext{kind: contextSystem} }

// DatasetRoles is the context of the roles that are bound to one dataset.
func DatasetRoles(id string) RolesContext { return RolesContext{kind: contextDataset, dataset: id} }

var errContext = errors.New("must be system or dataset:{dataset_id}")

// ParseRolesContext reads "system" or "dataset:{dataset_id}".
func ParseRolesContext(text string) (RolesContext, error) {
	if text == "system" {
		return SystemRoles(), nil
	}
	id, ok := strings.CutPrefix(text, "dataset:")
	if !ok || name.Problem(id) != "" {
		return RolesContext{}, errContext
	}
	return DatasetRoles(id), nil
}

// String returns what ParseRolesContext reads, "" for all roles.
func (c RolesContext) String() string {
	if c.kind == contextDataset {
		return "dataset:" + c.dataset
	}
	return c.kind
}

func (c RolesContext) holds(r Role) bool {
	switch c.kind {
	case contextSystem:
		return r.Resource == ""
	case contextDataset:
		return r.Resource == ResourceDataset && r.ResourceInstance == c.dataset
	}
	return true
}

// Bind returns the role as it is assigned within the context: a role that names no
// resource is bound to the dataset of the context. A role that names another resource is
// a [Problem] of the field "resource" or "resource_instance".
func (c RolesContext) Bind(r Role) (Role, error) {
	switch {
	case c.kind == contextSystem && r.Resource != "":
		return Role{}, problemOf("resource", "must be null for system-level roles")
	case c.kind != contextDataset:
		return r, nil
	case r.Resource != "" && r.Resource != ResourceDataset:
		return Role{}, problemOf("resource", "must be dataset, or null, for the roles of a dataset")
	case r.ResourceInstance != "" && r.ResourceInstance != c.dataset:
		return Role{}, problemOf("resource_instance", "must be the dataset of roles_context, or null")
	}
	r.Resource, r.ResourceInstance = ResourceDataset, c.dataset
	return r, nil
}

// replace returns roles with those of the context replaced by given, which are bound
// already. The result is its own.
func (c RolesContext) replace(roles, given []Role) []Role {
	var result []Role
	for _, r := range roles {
		if !c.holds(r) {
			result = append(result, r)
		}
	}
	return unique(append(result, given...))
}

// unique drops roles that were there before, in place.
func unique(roles []Role) []Role {
	kept := roles[:0]
	for _, r := range roles {
		if !slices.Contains(kept, r) {
			kept = append(kept, r)
		}
	}
	return kept
}
