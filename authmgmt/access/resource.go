package access

// Resource is what an action is done to. An empty ID means all resources of the type, an
// empty Type the organization as a whole.
type Resource struct {
	Type ResourceType
	ID   string
}

// ResourceType is a type of resources. A host may have more: see
// [Catalogue.WithResources].
type ResourceType string

// The types of resources that this module's services ask for.
const (
	Trigger    ResourceType = "trigger"
	Vault      ResourceType = "vault"
	Dataset    ResourceType = "dataset"
	Client     ResourceType = "client"
	Invitation ResourceType = "invitation"
)

// within reports whether r is other or a part of it. An ID without a Type is nothing.
func (r Resource) within(other Resource) bool {
	if other.Type == "" {
		return other.ID == ""
	}
	return r.Type == other.Type && (other.ID == "" || r.ID == other.ID)
}
