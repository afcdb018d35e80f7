package authmgmttest

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// faultyDeletion wraps the part that a store has, and a directory can have.
type faultyDeletion struct {
	deletion authmgmt.Deletion
	faults   *Faults
	part     Part
}

func (d faultyDeletion) MarkDeleted(
	ctx context.Context, org string, at time.Time, e authmgmt.AuditEvent,
) (time.Time, error) {
	return callFor(d.faults, string(d.part)+".MarkDeleted", func() (time.Time, error) {
		return d.deletion.MarkDeleted(ctx, org, at, e)
	})
}

func (d faultyDeletion) DeletedAt(ctx context.Context, org string) (time.Time, error) {
	return callFor(d.faults, string(d.part)+".DeletedAt", func() (time.Time, error) { return d.deletion.DeletedAt(ctx, org) })
}

func (d faultyDeletion) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return callFor(d.faults, string(d.part)+".RemoveDeleted", func() (bool, error) {
		return d.deletion.RemoveDeleted(ctx, org, limit)
	})
}

// Directory wraps a directory. The ops are the methods of "Directory", which those of
// [authmgmt.Organizations] and [authmgmt.Deletion] count among here:
// "Directory.AccessControl", "Directory.UpdateOrganization", "Directory.MarkDeleted".
func (f *Faults) Directory(d authmgmt.Directory) authmgmt.Directory {
	w := &faultyDirectory{d, f}
	o, organizations := d.(authmgmt.Organizations)
	deletion, deletes := d.(authmgmt.Deletion)
	switch {
	case organizations && deletes:
		return &struct {
			*faultyOrganizations
			faultyDeletion
		}{&faultyOrganizations{w, o}, faultyDeletion{deletion, f, DirectoryPart}}
	case organizations:
		return &faultyOrganizations{w, o}
	case deletes:
		return &struct {
			*faultyDirectory
			faultyDeletion
		}{w, faultyDeletion{deletion, f, DirectoryPart}}
	}
	return w
}
