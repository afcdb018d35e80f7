// Package localkeys is a [keyring.Keyring] on the standard library alone. All keys are
// derived from root keys of 32 random bytes, which the host keeps: in a file, in the
// environment, in a secret manager. There is no default key.
//
// Fingerprints are HMAC-SHA-256 (RFC 2104). Values are sealed with AES-256-GCM (NIST SP
// 800-38D) under a random nonce of 96 bits, which is good for 2^32 values of one vault
// and version. The keys come from HKDF-SHA-256 (RFC 5869) of the root key, without salt:
// one for each version, purpose, organization, vault, and for fingerprints also scope.
//
// The keys stay in the memory of the process for as long as it lives. A host that needs
// them out of its reach has a KMS: see module vault/tink.
package localkeys
