// Package name says what the names and IDs may be that callers choose, alike in all domains.
package name

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Max bounds a name, in bytes.
const Max = 255

// Problem says what is wrong with a name, "" if nothing is.
func Problem(name string) string {
	switch {
	case name == "":
		return "must not be empty"
	case len(name) > Max:
		return fmt.Sprintf("must be at most %d bytes", Max)
	case !utf8.ValidString(name):
		return "must be valid UTF-8"
	case strings.ContainsRune(name, 0):
		return "must not contain U+0000"
	}
	return ""
}

// Clean makes a name of a text of the host's, which may be anything: the actor of a call, say,
// which is kept in trails. Bytes that a name cannot hold become U+FFFD.
func Clean[T ~string](text T) T {
	return T(Cut(strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\x00", "\uFFFD")))
}

// Cut makes a name of a text that may be too long for one.
func Cut(text string) string {
	if len(text) <= Max {
		return text
	}
	cut := Max
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}
