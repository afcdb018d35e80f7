package access

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// Catalogue says which roles there are, which actions each of them allows, and to which
// types of resources they can be bound. It cannot change.
type Catalogue struct {
	roles     map[string][]Action
	resources []ResourceType // of the host's own, beside knownResources
}

// knownResources are the types that this module's services ask for.
var knownResources = []ResourceType{Trigger, Vault, Dataset, Client, Invitation}

// viewerActions and editorActions are those of the default catalogue. An editor is a
// viewer, too.
var (
	viewerActions = []Action{
		GetTrigger, ListTriggers, Tokenize, SearchSound, GetRun, GetResults,
	}
	editorActions = []Action{
		SubmitTrigger, CancelTrigger, RetryTrigger, RunTrigger, InsertRecords, Detokenize, CancelRun,
	}
)

// DefaultCatalogue has three roles. A viewer can list and read triggers, tokenize,
// search, and read what was found; an editor can also submit triggers and cancel, retry or
// run one, insert, detokenize to masked values, and cancel a search; an admin can do
// everything, clients, invitations and changes of many triggers included.
//
// Those who may tokenize can find out whether a value that they guess is stored. To take
// that from viewers, make a catalogue with [NewCatalogue] whose viewer has no
// [Tokenize].
func DefaultCatalogue() *Catalogue {
	return &Catalogue{roles: map[string][]Action{
		"viewer": viewerActions,
		"editor": slices.Concat(viewerActions, editorActions),
		"admin":  {AnyAction},
	}}
}

// NewCatalogue returns a catalogue of the host's own: the actions of each role,
// [AnyAction] for all. An action that this package does not name is the host's own. But one
// that differs from such a name by a letter or two, or in case alone, is an error that names
// it: a misspelt action would allow nothing.
func NewCatalogue(roles map[string][]Action) (*Catalogue, error) {
	if len(roles) == 0 {
		return nil, errors.New("access: a catalogue needs a role")
	}
	c := &Catalogue{roles: make(map[string][]Action, len(roles))}
	for id, actions := range roles {
		if problem := name.Problem(id); problem != "" {
			return nil, fmt.Errorf("access: the name of a role %s", problem)
		}
		for _, action := range actions {
			if problem := action.problem(); problem != "" {
				return nil, fmt.Errorf("access: the action %q of the role %q %s", action, id, problem)
			}
		}
		c.roles[id] = slices.Clone(actions)
	}
	return c, nil
}

// WithResources returns a copy that also knows types of resources of the host's own.
// Every catalogue knows those of this package.
func (c *Catalogue) WithResources(types ...ResourceType) (*Catalogue, error) {
	for _, t := range types {
		if problem := name.Problem(string(t)); problem != "" {
			return nil, fmt.Errorf("access: a type of resources %s", problem)
		}
	}
	return &Catalogue{roles: c.roles, resources: slices.Concat(c.resources, types)}, nil
}

// Resources returns the types of resources that roles can be bound to, sorted.
func (c *Catalogue) Resources() []ResourceType {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(knownResources, c.resources))))
}

// Roles returns the names of the roles, sorted.
func (c *Catalogue) Roles() []string { return slices.Sorted(maps.Keys(c.roles)) }

// Check returns what is wrong with an assignment: a field ("role_id", "resource" or
// "resource_instance") and what is wrong with it, or two empty texts if nothing is.
func (c *Catalogue) Check(r Role) (field, problem string) {
	if _, known := c.roles[r.ID]; !known {
		return "role_id", "is not one of the roles " + quoted(c.Roles())
	}
	if r.Resource != "" {
		if problem := name.Problem(string(r.Resource)); problem != "" {
			return "resource", problem
		}
		// A role on an unknown type would allow nothing, and nobody would say why.
		if !slices.Contains(knownResources, r.Resource) && !slices.Contains(c.resources, r.Resource) {
			return "resource", "is not one of the types " + quoted(c.Resources())
		}
	}
	if r.ResourceInstance == "" {
		return "", ""
	}
	if r.Resource == "" {
		return "resource_instance", "needs a resource, which says what it is an instance of"
	}
	if problem := name.Problem(r.ResourceInstance); problem != "" {
		return "resource_instance", problem
	}
	return "", ""
}

func quoted[T ~string](names []T) string {
	if len(names) == 0 {
		return "(none)"
	}
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("'" + string(name) + "'")
	}
	return b.String()
}

// Access returns what the assignments allow together: nothing without any. Roles that the
// catalogue does not have allow nothing.
func (c *Catalogue) Access(roles ...Role) Access {
	return Access{catalogue: c, roles: slices.Clone(roles)}
}

// Stored returns what a stored credential with these roles allows: without any,
// everything. It keeps the list, which must not be changed.
func (c *Catalogue) Stored(roles []Role) Access {
	if len(roles) == 0 {
		return Full()
	}
	return Access{catalogue: c, roles: roles}
}
