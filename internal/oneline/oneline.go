// Package oneline puts errors on one line, as messages and logs want them.
package oneline

import (
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/go-multierror"
)

// Of returns errors of one type as one, whose text is one line. It returns nil for none.
func Of[E error](list []E) *multierror.Error {
	var all *multierror.Error
	for _, err := range list {
		all = multierror.Append(all, err)
	}
	if all != nil {
		all.ErrorFormat = Join
	}
	return all
}

// Join returns the texts of errors with semicolons between them. Unlike errors.Join, it
// breaks no line.
func Join(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// maxLogged bounds the result of Logged, in bytes.
const maxLogged = 1024

// Logged returns the text of an error of a host's code for a log: one line of at most 1 KiB.
func Logged(text string) string { return Short(text, "", maxLogged-len("...")) }

// Short returns a text as one line of at most so many bytes, and "..." where it was cut.
// If the line begins with a prefix, or with the root package's name, that is left out.
func Short(text, prefix string, limit int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, prefix), "mortise: ")
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "..."
}
