package access

// Role is the assignment of a role of the catalogue, to the whole organization, to one
// type of resource, or to one resource. Its JSON is that of audit events; over HTTP all
// three fields are always there.
type Role struct {
	ID               string       `json:"role_id"`                     // a role of the catalogue: "admin", "editor", "viewer"
	Resource         ResourceType `json:"resource,omitempty"`          // the type of resource that it applies to; "" for all
	ResourceInstance string       `json:"resource_instance,omitempty"` // the resource that it applies to; "" for all of the type
}

// bound returns what the role applies to.
func (r Role) bound() Resource { return Resource{Type: r.Resource, ID: r.ResourceInstance} }
