// Package oneline puts errors on one line, as messages and logs want them.
package oneline

import "strings"

// Join returns the texts of errors with semicolons between them. Unlike errors.Join, it
// breaks no line.
func Join(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
