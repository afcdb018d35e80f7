package name

import (
	"strings"
	"unicode"
)

// DisplayProblem returns the problem of a display name, or "". Hosts put such names into the
// headers of mail and into their pages. So control characters, invisible ones, and characters
// that turn the direction of a text are refused. Characters that join letters, or choose
// between text and emoji, are allowed: names in Persian and in emoji have them.
func DisplayProblem(text string) string {
	if problem := Problem(text); problem != "" {
		return problem
	}
	hidden := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
			strings.ContainsRune("\u2028\u2029\u2800", r)
	}
	joins := func(r rune) bool { return strings.ContainsRune("\u200c\u200d\ufe0e\ufe0f", r) }
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return hidden(r) && !joins(r) }):
		return "must not contain control or invisible characters"
	case !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !hidden(r) }):
		return "must not be blank"
	}
	return ""
}
