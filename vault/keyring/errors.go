package keyring

import "errors"

// The errors of a [Keyring], and those of a vault that are about its keys.
var (
	// ErrCorrupt: what is stored under a token does not open: it was changed, or moved
	// here from another place, or another key was loaded under the number of its own.
	// Load the right key, restore the row from a backup, or delete the token.
	ErrCorrupt = errors.New("vault: a stored value is corrupt")
	// ErrUnknownKey: what is stored needs a version of a key that is not loaded. Load it.
	ErrUnknownKey = errors.New("vault: a key version is not loaded")
	// ErrWrongKey: a version of a key is not the one that the store began with. Start
	// with that one.
	ErrWrongKey = errors.New("vault: the store was begun with another key: start with that one")
	// ErrRetired: a version of a key was retired. Make another one the primary
	// version.
	ErrRetired = errors.New("vault: the key version is retired")
	// ErrInUse: the version of a key is still needed. Finish the rotation first.
	ErrInUse = errors.New("vault: the key version is in use")
)
