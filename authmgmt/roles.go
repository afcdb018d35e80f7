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

// mayReplace reports whether a caller with a may replace some roles by others: a must
// cover what comes and what goes. What stays need not be covered.
func mayReplace(a access.Access, before, after []access.Role) bool {
	if len(before) == 0 || len(after) == 0 {
		return a.Full()
	}
	changed := slices.DeleteFunc(slices.Concat(before, after), func(r access.Role) bool {
		return slices.Contains(before, r) && slices.Contains(after, r)
	})
	return len(changed) == 0 || a.Covers(changed)
}
