package httpadapter

import (
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/vault"
)

// redactions are their names on the wire. DEFAULT is what the column is configured to show, as
// with Skyflow: see [vault.DetokenizeItem].
var redactions = map[string]vault.Redaction{
	"DEFAULT": "", "PLAIN_TEXT": vault.PlainText, "MASKED": vault.Masked, "REDACTED": vault.Redacted,
}

// redactionNames are the same the other way round.
var redactionNames = map[vault.Redaction]string{vault.PlainText: "PLAIN_TEXT", vault.Masked: "MASKED", vault.Redacted: "REDACTED"}

// detokenize shows values, as far as the caller may see them.
func (a *vaultAdapter) detokenize(c *call) response {
	items, wrong := a.readTokens(c.body)
	if failed := a.checked(c, wrong); failed != nil {
		return *failed
	}
	most, failed := a.mostShown(c)
	if failed != nil {
		return *failed
	}
	by := mortise.Actor(c.principal.Subject)
	values, err := a.service.Detokenize(c.r.Context(), c.principal.Organization, by, c.vaultID(), items, a.allow(c, most))
	if err != nil {
		return a.h.fail(c, err)
	}
	if p := notText(values); p != nil {
		return *c.refuse(*p)
	}
	return response{status: http.StatusOK, body: revealedRecords(values)}
}

// readTokens reads a body of detokenization parameters.
func (a *vaultAdapter) readTokens(body []byte) ([]vault.DetokenizeItem, *problem) {
	b, wrong := a.readBatch(body)
	if wrong != nil {
		return nil, wrong
	}
	var items []vault.DetokenizeItem
	if wrong = b.list("detokenizationParameters", func(i int, item strictjson.Value) {
		items = append(items, b.token(i, item))
	}); wrong != nil {
		return nil, wrong
	}
	return items, b.problem()
}

// token reads one item, and notes everything that is wrong with it.
func (b *batchReader) token(i int, item strictjson.Value) (it vault.DetokenizeItem) {
	var tokens, shown strictjson.Value
	for key, v := range item.Members() {
		switch string(fieldName(key)) {
		case "token":
			tokens = v
		case "redaction":
			shown = v
		}
	}
	token, there := b.given(i, "token", tokens)
	if !there {
		b.refuse(i, "", reasonTokenMissing, "It has no token.")
	}
	it.Token = tokenOrNone(token)
	if text, there := b.given(i, "redaction", shown); there && shown.Kind() == strictjson.String {
		var known bool
		if it.Redaction, known = redactions[text]; !known {
			b.refuse(i, "", reasonRedaction, "The redaction must be PLAIN_TEXT, MASKED, REDACTED or DEFAULT.")
		}
	}
	return it
}

// tokenOrNone returns "", which is no token, for what can be none, so that every backend
// answers alike.
func tokenOrNone(token string) string {
	if name.Problem(token) != "" {
		return ""
	}
	return token
}

// AllowByAccess returns what [NewVault] shows by roles alone, for a host's own calls of
// [vault.Service.Detokenize] and Export. An access that has both [access.Detokenize] and
// [access.Reveal] in the vault sees plain values. One that has access.Detokenize alone
// sees masked ones. Any other sees nothing: each value reads as "*REDACTED*", where the
// handler of NewVault answers with 403.
//
// The roles are asked for the vault by its ID, whatever its organization: pass the
// Principal's own organization to Detokenize. Options.Authorize and
// VaultOptions.Redaction are asked by the handler alone. A host that has set them has to
// ask them, too, and show the less of both.
func AllowByAccess(a access.Access) vault.RedactionPolicy {
	return func(f vault.Field) vault.Redaction {
		resource := access.Resource{Type: access.Vault, ID: f.Vault}
		switch {
		case !a.Allows(access.Detokenize, resource):
			return vault.Redacted
		case !a.Allows(access.Reveal, resource):
			return vault.Masked
		}
		return vault.PlainText
	}
}

// mostShown returns how much of any value the caller is authorized to see.
func (a *vaultAdapter) mostShown(c *call) (vault.Redaction, *response) {
	if a.h.opts.Authorize == nil {
		return AllowByAccess(c.principal.Access)(vault.Field{Vault: c.vaultID()}), nil
	}
	resource := access.Resource{Type: access.Vault, ID: c.vaultID()}
	switch err := a.h.opts.Authorize(c.r.Context(), c.principal, access.Reveal, resource); {
	case err == nil:
		return vault.PlainText, nil
	case errors.Is(err, ErrForbidden):
		return vault.Masked, nil
	default:
		return vault.Redacted, a.h.failHook(c.r, err)
	}
}

// allow says how much of a field's values the caller may see.
func (a *vaultAdapter) allow(c *call, most vault.Redaction) vault.RedactionPolicy {
	return func(f vault.Field) vault.Redaction {
		if a.redaction == nil {
			return most
		}
		bound := a.redaction(c.r.Context(), c.principal, f)
		if bound == vault.PlainText {
			return most
		}
		// Most is masked at least, for others had a 403. The vault refuses an unknown
		// redaction.
		return bound
	}
}

// notText is the problem of values that JSON cannot hold, which only a Go program can
// have inserted. The audit trail has them as shown.
func notText(values []vault.Revealed) *problem {
	p := problem{kind: domain, status: http.StatusUnprocessableEntity}
	for i := range values {
		if !utf8.ValidString(values[i].Value.Reveal()) {
			p.items = append(p.items, itemDetail{Index: &i, Reason: reasonNotText, text: "The value is not text in UTF-8, which is all that JSON can hold."})
		}
	}
	if p.items == nil {
		return nil
	}
	return &p
}

// revealedRecords is the answer to a detokenization.
func revealedRecords(values []vault.Revealed) []byte {
	b := []byte(`{"records":[`)
	for i := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"token":`...), values[i].Token)
		b = appendString(append(b, `,"value":`...), values[i].Value.Reveal())
		b = appendString(append(b, `,"valueType":"STRING","redaction":`...), redactionNames[values[i].Redaction])
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// deleteToken forgets the value of a token.
func (a *vaultAdapter) deleteToken(c *call) response {
	if failed := a.checked(c, nil); failed != nil {
		return *failed
	}
	token := tokenOrNone(c.r.PathValue("token"))
	by := mortise.Actor(c.principal.Subject)
	if err := a.service.Delete(c.r.Context(), c.principal.Organization, by, c.vaultID(), token); err != nil {
		return a.h.fail(c, err)
	}
	b := appendString([]byte(`{"token":`), token)
	return response{status: http.StatusOK, body: append(b, `,"deleted":true}`...)}
}
