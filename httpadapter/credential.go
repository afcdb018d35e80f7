package httpadapter

import (
	"errors"
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

// challengeOf is the WWW-Authenticate of a 401 (RFC 6750 section 3). What else it may say
// there is for requests that had a credential.
func challengeOf(credential string) string { return `Bearer realm="` + credential + `"` }

// reply answers a problem by a table. A 401 names what the host calls its credential.
func (h *Handler) reply(table errorTable, p problem) response {
	if p.kind != unauthenticated || h.opts.Credential == "" {
		return table.reply(p)
	}
	p.message = refusalOf(h.opts.Credential)
	resp := table.reply(p)
	resp.challenge = []string{challengeOf(h.opts.Credential)}
	return resp
}
