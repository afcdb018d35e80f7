// Package keyring is for authors of keyrings: what holds the keys of a vault service,
// makes fingerprints of values and seals them. Package vault/localkeys and module
// vault/tink are keyrings; write your own to have a key management service do it, and
// prove it by vaulttest.RunKeyring.
//
// A [Keyring] says which [Versions] of its keys it has and what its [Limits] are. It is
// given batches of [FingerprintItem], [SealItem] and [OpenItem], each of a [Value] in its
// [Scope], and answers with a [Fingerprint], a [SealResult] or an [OpenResult].
//
// A program that uses a vault needs little of this: the errors that it handles, what a
// store knows of each [Key], and the [Usage] that a rotation of the keys is watched by.
package keyring
