package authmgmt

import "context"

// Directory says which organizations have role-based access control. A host that knows
// its organizations itself implements this one method, which must be safe for concurrent
// use; the same type can be a directory of package trigger. An organization that it does
// not know counts as one without role-based access control ([ErrRBACDisabled]). A
// Directory that is a [Deletion], too, hears of organizations that are deleted.
type Directory interface {
	// AccessControl returns an organization, or [mortise.ErrNotFound]. It does not find
	// one that was deleted: see [Deletion], which a Directory can implement.
	AccessControl(ctx context.Context, org string) (Organization, error)
}

// Organization is what this package needs to know of one.
type Organization struct {
	ID   string
	RBAC bool // has role-based access control: roles can be assigned
}

// Organizations says which organizations have role-based access control. It is for hosts
// that have no place of their own for that. Copies, atomicity, errors and update
// functions are as for [Store].
type Organizations interface {
	Directory

	// UpdateOrganization changes an organization. If there is none yet, the function gets
	// one with nothing but its ID. A change of the ID is ignored.
	UpdateOrganization(ctx context.Context, org string, update func(*Organization) (AuditEvent, error)) error
}
