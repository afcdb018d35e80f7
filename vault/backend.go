package vault

import (
	"errors"
	"fmt"
)

// Backend is what a [Service] stands on. The databases in package storage fill one, as in
//
//	service, err := vault.New(db.Vault(), keyring, nil)
type Backend struct {
	Store Store

	// Err is why a database has no Store for this package. New returns it.
	Err error
}

// validate says what is missing.
func (b *Backend) validate() error {
	switch {
	case b.Err != nil:
		return fmt.Errorf("vault: %w", b.Err)
	case b.Store == nil:
		return errors.New("vault: New needs Backend.Store")
	}
	return nil
}
