package name

import (
	"strings"
	"unicode"
)

// EmailProblem says what is wrong with an email address, "" if nothing is: what would make
// it useless or dangerous. Whether it exists only a message can tell.
func EmailProblem(address string) string {
	if problem := Problem(address); problem != "" {
		return problem
	}
	local, domain, _ := strings.Cut(address, "@")
	bad := func(r rune) bool { // characters that cannot be seen included
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`<>,;:"\()[]`, r)
	}
	if local == "" || domain == "" || address[0] == '-' || strings.ContainsAny(domain, "@?&%/#") || strings.ContainsFunc(address, bad) {
		return "must be an email address"
	}
	return ""
}
