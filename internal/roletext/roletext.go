// Package roletext is the text of roles in a database, for all backends.
package roletext

import (
	"errors"
	"net/url"
	"strings"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// Format writes roles as they are stored: "viewer/dataset/d1,editor//",
// percent-encoded, which keeps every byte and can be read. It is empty for none.
func Format(roles []access.Role) string {
	var b strings.Builder
	for i, r := range roles {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(url.PathEscape(r.ID))
		b.WriteByte('/')
		b.WriteString(url.PathEscape(string(r.Resource)))
		b.WriteByte('/')
		b.WriteString(url.PathEscape(r.ResourceInstance))
	}
	return b.String()
}

// ErrDamaged: the text was not written by Format.
var ErrDamaged = errors.New("a row is damaged: its roles cannot be read")

// Parse reads the text of Format. No roles are full access, so every other text that is
// not of Format is an error.
func Parse(text string) ([]access.Role, error) {
	if text == "" {
		return nil, nil
	}
	roles := make([]access.Role, 0, 1+strings.Count(text, ","))
	for part := range strings.SplitSeq(text, ",") {
		fields := strings.Split(part, "/")
		if len(fields) != 3 {
			return nil, ErrDamaged
		}
		for i := range fields {
			var err error
			if fields[i], err = url.PathUnescape(fields[i]); err != nil {
				return nil, ErrDamaged
			}
		}
		roles = append(roles, access.Role{ID: fields[0], Resource: access.ResourceType(fields[1]), ResourceInstance: fields[2]})
	}
	return roles, nil
}
