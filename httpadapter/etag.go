package httpadapter

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// entityTag returns the strong entity tag of a body (RFC 9110 section 8.8.3): a digest, so
// that every server gives one client one tag.
func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// ifMatches reports whether a resource that is there, and has this tag, passes the lines of an
// If-Match header (RFC 9110 section 13.1.1). A weak tag matches nothing, and neither does a
// header that is not * or a list of tags.
func ifMatches(lines []string, tag string) bool {
	rest := strings.Trim(strings.Join(lines, ","), " \t")
	if rest == "*" {
		return true
	}
	found := false
	for {
		if rest = strings.TrimLeft(rest, " \t,"); rest == "" { // elements may be empty
			return found
		}
		opaque, weak := strings.CutPrefix(rest, "W/")
		opaque, quoted := strings.CutPrefix(opaque, `"`)
		opaque, after, closed := strings.Cut(opaque, `"`)
		if !quoted || !closed || strings.ContainsFunc(opaque, noTagRune) {
			return false
		}
		found = found || !weak && `"`+opaque+`"` == tag
		if rest = strings.TrimLeft(after, " \t"); rest != "" && rest[0] != ',' {
			return false
		}
	}
}

// noTagRune reports whether a tag cannot have the character.
func noTagRune(r rune) bool { return r <= ' ' || r == 0x7f }
