package httpadapter

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// maxCredential bounds Options.Credential, in bytes.
const maxCredential = 100

// checkCredential refuses what cannot stand between the quotes of a challenge as it is.
func checkCredential(name string) error {
	bad := len(name) > maxCredential || strings.Trim(name, " ") != name
	for i := range len(name) {
		bad = bad || name[i] < ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\'
	}
	if bad {
		return errors.New("httpadapter: Options.Credential must be 1 to 100 visible ASCII characters, " +
			"with spaces only between them, and without quotes and backslashes")
	}
	return nil
}

// refusalOf is the text of a 401.
func refusalOf(credential string) string {
	return "The " + credential + " is missing, invalid, expired or revoked."
}

// challengeOf is the WWW-Authenticate of a 401 (RFC 6750 section 3). It names the error of a
// request that had a token: a client then fetches another token.
func challengeOf(credential string, hadToken bool) string {
	var params []string
	if credential != "" {
		params = append(params, `realm="`+credential+`"`)
	}
	if hadToken {
		params = append(params, `error="invalid_token"`)
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}

// reply answers a problem by a table. A 401 names the host's credential.
func (h *Handler) reply(r *http.Request, table errorTable, p problem) response {
	if p.kind != unauthenticated {
		return table.reply(p)
	}
	if h.opts.Credential != "" {
		p.message = refusalOf(h.opts.Credential)
	}
	resp := table.reply(p)
	resp.challenge = []string{challengeOf(h.opts.Credential, hasBearer(r))}
	return resp
}

// hasBearer reports whether a request has a bearer token, well-formed or not.
func hasBearer(r *http.Request) bool {
	return slices.ContainsFunc(r.Header["Authorization"], func(header string) bool {
		scheme, token, _ := strings.Cut(header, " ")
		return strings.EqualFold(scheme, "Bearer") && strings.Trim(token, " ") != ""
	})
}
