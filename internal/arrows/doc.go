// Package arrows holds no code, only tests: which package may import which. The table in
// rules_test.go says it in a form to read. Beside it stand the other rules of the house that
// a compiler does not know: whom each exported name of a domain is for, no internal type in
// an exported signature, no func init, no global registry, nothing at the top level but what
// belongs there.
package arrows
