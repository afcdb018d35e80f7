package authmgmt

import (
	"errors"
	"fmt"
)

// Backend is what a [Service] stands on. The databases in package storage fill one, as in
//
//	service, err := authmgmt.New(db.AuthMgmt(), nil)
//
// A host that knows its organizations itself sets Directory before that.
type Backend struct {
	// Store keeps clients, tokens, invitations and the audit trail. It may be a [Pruner],
	// too, and a [KeyChecker].
	Store Store

	// Directory says which organizations have role-based access control; if one has it,
	// that holds for a second. Nil: each of them has. [Service.SetRBAC] needs
	// [Organizations].
	Directory Directory

	// Err is why a database has no Store for this package. New returns it.
	Err error
}

// validate says what is missing.
func (b *Backend) validate() error {
	switch {
	case b.Err != nil:
		return fmt.Errorf("authmgmt: %w", b.Err)
	case b.Store == nil:
		return errors.New("authmgmt: New needs Backend.Store")
	}
	return nil
}
