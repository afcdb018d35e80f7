package vault

import "errors"

// Backend is what a [Service] stands on. The databases in package storage fill one, as in
//
//	service, err := vault.New(db.Vault(), keyring, nil)
type Backend struct {
	Store Store
}

// validate says what is missing.
func (b *Backend) validate() error {
	if b.Store == nil {
		return errors.New("vault: New needs Backend.Store")
	}
	return nil
}
