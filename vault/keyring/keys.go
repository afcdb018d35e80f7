package keyring

// Purpose says what a key is for.
type Purpose string

// The purposes of keys.
const (
	FingerprintKey Purpose = "fingerprint" // makes fingerprints, by which a value is found
	SealKey        Purpose = "seal"        // seals values
)

// Key is what a store knows of a version of a key. It cannot be computed from that.
type Key struct {
	Purpose  Purpose
	Version  int
	Check    Fingerprint // tells whether it is the same key; zero for one that seals
	Required bool        // every insertion has a fingerprint of this version
	Retired  bool        // nothing may be stored under it any more
}

// Usage counts rows that are not deleted.
type Usage struct {
	Rows          int         // all
	Deterministic int         // those with fingerprints
	Fingerprints  map[int]int // fingerprints by version, retired ones included
	Sealed        map[int]int // rows by the version that they are sealed under
}
