// Package tables has the names of the domains, and the definition of the views that people read,
// for storage/sqlite and storage/postgres. One definition gives both databases the same columns
// in the same order, which docs/views.md lists. Tables may change with any version; views stay.
package tables

import (
	"errors"
	"fmt"
	"slices"
)

// Domains are the names of the domains: of their packages.
func Domains() []string { return []string{"trigger", "authmgmt", "vault", "audiosearch"} }

// Named returns the domains of Options.Domains: all, if it names none.
func Named(domains []string) ([]string, error) {
	for _, name := range domains {
		if !slices.Contains(Domains(), name) {
			return nil, fmt.Errorf("Options.Domains names %q, and may name %q", name, Domains())
		}
	}
	if len(domains) == 0 {
		return Domains(), nil
	}
	return slices.Compact(slices.Sorted(slices.Values(domains))), nil
}

// Missing is the error of a domain's New if Options.Domains does not name it.
func Missing(domains []string, domain string) error {
	if slices.Contains(domains, domain) {
		return nil
	}
	return errors.New("the database was opened without this domain: name \"" + domain + "\" in Options.Domains, or name none")
}
