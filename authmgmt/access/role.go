package access

// Role is the assignment of a role of the catalogue, to the whole organization, to one
// type of resource, or to one resource. Its JSON is that of audit events; over HTTP all
// three fields are always there.
type Role struct {
	// ID is a role of the catalogue: "admin", "editor", "viewer".
	ID string `json:"role_id"`
	// Resource is the type of resource that it applies to; "" for all.
	Resource ResourceType `json:"resource,omitempty"`
	// ResourceInstance is the resource that it applies to; "" for all of the type.
	ResourceInstance string `json:"resource_instance,omitempty"`
}

// bound returns what the role applies to.
func (r Role) bound() Resource { return Resource{Type: r.Resource, ID: r.ResourceInstance} }
