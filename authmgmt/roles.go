package authmgmt

import (
	"slices"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// replaceRoles returns roles with those of the context replaced by given, which are bound
// already. The result is its own.
func replaceRoles(c access.RolesContext, roles, given []access.Role) []access.Role {
	var result []access.Role
	for _, r := range roles {
		if !c.Has(r) {
			result = append(result, r)
		}
	}
	return unique(append(result, given...))
}

// unique drops roles that were there before, in place.
func unique(roles []access.Role) []access.Role {
	kept := roles[:0]
	for _, r := range roles {
		if !slices.Contains(kept, r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// sameRoles reports whether two lists have the same roles, in any order.
func sameRoles(a, b []access.Role) bool {
	within := func(a, b []access.Role) bool {
		return !slices.ContainsFunc(a, func(r access.Role) bool { return !slices.Contains(b, r) })
	}
	return within(a, b) && within(b, a)
}

// mayReplace reports whether a caller with a may replace some roles by others: a must cover
// each new role, and each role that goes if the catalogue has it. Roles that stay need not
// be covered.
func mayReplace(a access.Access, before, after []access.Role) bool {
	if len(before) == 0 || len(after) == 0 {
		return a.Full()
	}
	without := func(roles, others []access.Role) []access.Role {
		return slices.DeleteFunc(slices.Clone(roles), func(r access.Role) bool { return slices.Contains(others, r) })
	}
	come, gone := without(after, before), without(before, after)
	return (len(come) == 0 || a.Covers(come)) && (len(gone) == 0 || a.MayEnd(gone))
}
