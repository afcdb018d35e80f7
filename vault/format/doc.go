// Package format is for authors of tokenizers: what makes the tokens of a vault, and says
// what a column's Format may be. [Standard] is the one that a service uses by default; a
// [Tokenizer] of your own, in vault.Options, may have other formats beside those.
//
// A tokenizer gets each [Request] for a token with its [Field], and answers with a
// [Result]; a [Pair] is a value with a token that it has elsewhere. The error of one that
// does not fit is an [*Error], which says what would fit.
//
// No suite proves tokenizers, because formats differ too much. To try one beside a
// service, pass it to vaulttest.New, as Options.Service.Tokenizer.
//
// A [Mask] says how much of a value a column shows to those who may see it masked.
package format
