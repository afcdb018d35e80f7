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

// nameCredential puts a host's name of its credential into a service's file, which is
// compact. The components that say it get names of their own: another service of the
// document may have another credential.
func nameCredential(file []byte, credential string) []byte {
	if credential == "" {
		return file
	}
	// The quotes of the challenge stand within JSON, and nothing else of the name does.
	challenge := strings.ReplaceAll(challengeOf(credential), `"`, `\"`)
	scheme := "The " + credential + ". Send it with every request, in the header `Authorization: Bearer <CREDENTIAL>`. " +
		"One that is missing, invalid, expired or revoked is answered with status 401."
	suffix := componentName(credential)
	r := strings.NewReplacer(
		refusalOf("API key or access token"), refusalOf(credential),
		refusalOf("access token"), refusalOf(credential),
		"the organization of the access token", "the organization of the "+credential,

		"The organization's API key, issued in the organization's settings under API Access. Send it with every request, in the header "+
			"`Authorization: Bearer <API_KEY>`. A key that is missing, invalid or revoked is answered with status 401.", scheme,
		"An access token. Send it with every request, in the header `Authorization: Bearer <ACCESS_TOKEN>`. "+
			"A token that is missing, invalid, expired or revoked is answered with status 401.", scheme,
		`{"bearerAuth":`, `{"bearer_`+suffix+`":`,
		`{"accessToken":`, `{"bearer_`+suffix+`":`,

		`"Unauthorized":{`, `"Unauthorized_`+suffix+`":{`,
		`"DetailUnauthorized":{`, `"DetailUnauthorized_`+suffix+`":{`,
		`"VaultUnauthorized":{`, `"VaultUnauthorized_`+suffix+`":{`,
		`/Unauthorized"`, `/Unauthorized_`+suffix+`"`,
		`/DetailUnauthorized"`, `/DetailUnauthorized_`+suffix+`"`,
		`/VaultUnauthorized"`, `/VaultUnauthorized_`+suffix+`"`,

		`"WWW-Authenticate":{"description":`, `"WWW-Authenticate_`+suffix+`":{"description":`,
		`/WWW-Authenticate"`, `/WWW-Authenticate_`+suffix+`"`,
		"always `Bearer`", "always `"+challenge+"`",
		`"const":"Bearer"},"example":"Bearer"`, `"const":"`+challenge+`"},"example":"`+challenge+`"`,
	)
	return []byte(r.Replace(string(file)))
}

// componentName is what a component of an OpenAPI document can be called after a
// credential.
func componentName(credential string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '_'
	}, credential)
}
