package postgres

import (
	"errors"
	"net/url"
	"strings"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// rolesText writes roles as they are stored: "viewer/dataset/d1,editor//",
// percent-encoded, which keeps every byte and can be read. It is empty for none.
func rolesText(roles []access.Role) string {
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

var errRoles = errors.New("postgres: a row is damaged: its roles cannot be read")

// parseRoles reads what rolesText writes. No roles are full access, so nothing else may
// be taken for that.
func parseRoles(text string) ([]access.Role, error) {
	if text == "" {
		return nil, nil
	}
	roles := make([]access.Role, 0, 1+strings.Count(text, ","))
	for part := range strings.SplitSeq(text, ",") {
		fields := strings.Split(part, "/")
		if len(fields) != 3 {
			return nil, errRoles
		}
		for i := range fields {
			var err error
			if fields[i], err = url.PathUnescape(fields[i]); err != nil {
				return nil, errRoles
			}
		}
		roles = append(roles, access.Role{ID: fields[0], Resource: access.ResourceType(fields[1]), ResourceInstance: fields[2]})
	}
	return roles, nil
}
