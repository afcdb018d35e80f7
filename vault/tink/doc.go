// Package tink is a [keyring.Keyring] on Tink keysets (github.com/tink-crypto/tink-go):
// for hosts that have their keys sealed by a KMS, and rotate them with Tink's tools.
//
// There are two keysets. One makes fingerprints and has keys of the PRF primitive: HMAC
// with SHA-256 or SHA-512, or HKDF. One seals values and has keys of the AEAD primitive:
// any but those that ask a KMS for each value. The version of a key is its Tink key ID.
// Only enabled keys count, and the primary one is the primary version.
//
// Both keysets are stored sealed by a key-encryption key, a [tink.AEAD] such as a
// registry.KMSClient returns for the URI of a key. [Generate] makes them, [Read] opens
// them and makes a [Keyring], [Update] changes one. All use Tink's own formats without
// associated data, those of tinkey. A host that reads its keysets in another way gives
// the handles to [New].
//
// The KMS is asked by these three functions only, never for a value. From then on the
// keys are in the memory of the process, as those of package localkeys are: a KMS keeps
// them out of files, backups and configuration. Whoever can write the files, but not use
// the KMS, can still exchange them for others that the same key sealed. The store refuses
// fingerprint keys that are not its own, and any primary key that is retired; give each
// installation a KMS key of its own.
//
// # Rotating the keys
//
// The steps are those of package vault. What changes in the keysets is:
//
//  1. Add a key to each keyset, with [Update] and the Add method of keyset.Manager. It is
//     enabled and not primary.
//  2. Service.Backfill, with the ID of the new fingerprint key.
//  3. Make the new keys primary: SetPrimary.
//  4. Service.Rewrap.
//  5. Service.Retire, with the IDs of the old keys. Then disable or delete them: Disable,
//     Delete.
//
// After the steps 1, 3 and 5 every process loads the keysets anew: it is started again,
// or calls [Keyring.Replace].
//
// # What is computed
//
// A fingerprint is the HMAC-SHA-256 of a value. Its key is 32 bytes of the PRF of: the
// label "mortise vault fingerprint v1", the version, the organization, the vault, the
// name of the scope. A value is sealed with the associated data of: the label "mortise
// vault seal v1", the version, the organization, the vault, the name of the scope, the
// token. The version is 8 bytes, big-endian. Every other part comes after its length in
// bytes, written in the same way.
//
// # Which keys to take
//
// [Generate] takes HMAC-SHA-256, and XAES-256-GCM (https://c2sp.org/XAES-256-GCM), whose
// random nonces of 192 bits are good for 2^80 values. AES-256-GCM has random nonces of 96
// bits: one key is good for 2^32 values, of all vaults together.
//
// [tink.AEAD]: https://pkg.go.dev/github.com/tink-crypto/tink-go/v2/tink#AEAD
package tink
