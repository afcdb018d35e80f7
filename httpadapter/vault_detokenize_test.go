package httpadapter_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/vault"
)

func detokenization(items ...string) string {
	return `{"detokenizationParameters":[` + strings.Join(items, ",") + `]}`
}

func ofToken(token, redaction string) string {
	if redaction == "" {
		return `{"token":"` + token + `"}`
	}
	return `{"token":"` + token + `","redaction":"` + redaction + `"}`
}

func revealed(token, value, redaction string) string {
	return `{"token":"` + token + `","value":` + quoteJSON(value) + `,"valueType":"STRING","redaction":"` + redaction + `"}`
}

// Every redaction asked by those who may see plain values, masked ones, and nothing.
func TestDetokenize(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("acme", "v1", "persons", "email", "ada@example.com")
	plain, masked := revealed(token, "ada@example.com", "PLAIN_TEXT"), revealed(token, "a********@example.com", "MASKED")
	none := revealed(token, "*REDACTED*", "REDACTED")
	const refused = "refused"
	for caller, want := range map[string]map[string]string{
		"full":   {"": plain, "DEFAULT": plain, "PLAIN_TEXT": plain, "MASKED": masked, "REDACTED": none},
		"admin":  {"": plain, "DEFAULT": plain, "PLAIN_TEXT": plain, "MASKED": masked, "REDACTED": none},
		"editor": {"": masked, "DEFAULT": masked, "PLAIN_TEXT": refused, "MASKED": masked, "REDACTED": none},
	} {
		for redaction, record := range want {
			w := r.as(caller, http.MethodPost, detokenize, detokenization(ofToken(token, redaction)))
			if record == refused {
				requireProblems(t, w, http.StatusForbidden, problemAt{0, "", "redaction_not_allowed"})
				continue
			}
			requireBody(t, w, http.StatusOK, `{"records":[`+record+`]}`)
			requireRequestID(t, w)
		}
	}
	// positional, and all or nothing
	bob := r.insert("acme", "v1", "persons", "name", "Bob\x00 \"é\u2028")
	requireBody(t, r.post(detokenize, detokenization(ofToken(bob, "PLAIN_TEXT"), ofToken(token, "MASKED"), ofToken(bob, "REDACTED"))), http.StatusOK,
		`{"records":[{"token":"`+bob+`","value":"Bob\u0000 \"é`+"\u2028"+`","valueType":"STRING","redaction":"PLAIN_TEXT"},`+masked+`,`+revealed(bob, "*REDACTED*", "REDACTED")+`]}`)
	requireProblems(t, r.as("editor", http.MethodPost, detokenize, detokenization(ofToken(bob, "PLAIN_TEXT"), ofToken(token, ""), ofToken(bob, "PLAIN_TEXT"))),
		http.StatusForbidden, problemAt{0, "", "redaction_not_allowed"}, problemAt{2, "", "redaction_not_allowed"})

	// A column with a mask of its own shows plain text only if it is asked for.
	grace := r.insert("acme", "v1", "persons", "name", "Grace")
	for _, caller := range []string{"full", "admin", "editor"} {
		requireBody(t, r.as(caller, http.MethodPost, detokenize, detokenization(ofToken(grace, ""), ofToken(grace, "DEFAULT"))), http.StatusOK,
			`{"records":[`+revealed(grace, "G********e", "MASKED")+`,`+revealed(grace, "G********e", "MASKED")+`]}`)
	}
	requireBody(t, r.as("full", http.MethodPost, detokenize, detokenization(ofToken(grace, "PLAIN_TEXT"), ofToken(grace, ""), ofToken(token, ""))), http.StatusOK,
		`{"records":[`+revealed(grace, "Grace", "PLAIN_TEXT")+`,`+revealed(grace, "G********e", "MASKED")+`,`+plain+`]}`)

	page, err := r.service.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Kind: mortise.KindDetokenized, Limit: 1})
	require.NoError(t, err)
	require.EqualValues(t, "client:full", page.Items[0].Actor)
	require.Len(t, page.Items[0].Tokens, 3)
}

// What a host says of a field is the most of it, and no more than the caller is
// authorized to.
func TestDetokenizeRedactionOfFields(t *testing.T) {
	bound := vault.Redacted
	var asked []string
	all := everyVaultOption
	all.Redaction = func(ctx context.Context, p httpadapter.Principal, f vault.Field) vault.Redaction {
		require.NotEmpty(t, httpadapter.RequestID(ctx))
		asked = append(asked, p.Subject+" "+f.String())
		if f.Column == "card" {
			return vault.PlainText
		}
		return bound
	}
	r := newVaultRig(t, &all, nil)
	email, card := r.insert("acme", "v1", "persons", "email", "ada@example.com"), r.insert("acme", "v1", "persons", "card", "4111111111111111")
	for _, c := range []struct {
		bound               vault.Redaction
		caller, email, card string
	}{
		{vault.PlainText, "full", "ada@example.com", "4111111111111111"},
		{vault.Masked, "full", "a********@example.com", "4111111111111111"},
		{vault.Redacted, "full", "*REDACTED*", "4111111111111111"},
		{"", "full", "*REDACTED*", "4111111111111111"},
		{vault.PlainText, "editor", "a********@example.com", "********1111"},
		{vault.Masked, "editor", "a********@example.com", "********1111"},
		{vault.Redacted, "editor", "*REDACTED*", "********1111"},
	} {
		bound = c.bound
		w := r.as(c.caller, http.MethodPost, detokenize, detokenization(ofToken(email, ""), ofToken(card, "DEFAULT")))
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.Contains(t, w.Body.String(), `"value":"`+c.email+`"`, c)
		require.Contains(t, w.Body.String(), `"value":"`+c.card+`"`, c)
	}
	bound = "MASKED" // the name that it has over HTTP
	w := r.as("full", http.MethodPost, detokenize, detokenization(ofToken(email, "")))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.NotContains(t, w.Body.String(), "ada")
	require.Contains(t, r.log.String(), "an unknown redaction")
	bound = vault.Redacted
	requireProblems(t, r.post(detokenize, detokenization(ofToken(card, "PLAIN_TEXT"), ofToken(email, "MASKED"))), http.StatusForbidden,
		problemAt{1, "", "redaction_not_allowed"})
	require.Contains(t, asked, "client:full customers.contact", "asked for every column that the value may be of")
	require.Contains(t, asked, "client:editor persons.card")
}

func TestDetokenizeProblems(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("acme", "v1", "persons", "name", "Ada")
	theirs := r.insert("rival", "v1", "persons", "name", "Ada")
	elsewhere := r.insert("acme", "v2", "persons", "name", "Ada")
	list := func(reason string) problemAt { return problemAt{-1, "detokenizationParameters", reason} }
	for body, want := range map[string]problemAt{
		`{`: {-1, "", "json_invalid"}, `[]`: {-1, "", "wrong_type"}, `{}`: list("list_missing"), `{"detokenizationParameters":{}}`: list("wrong_type"),
		`{"detokenizationParameters":[]}`: list("list_empty"), detokenization(`7`): {0, "", "wrong_type"}, detokenization(`{}`): {0, "", "token_missing"},
		detokenization(`{"token":null}`): {0, "token", "wrong_type"}, detokenization(ofToken(token, ""), `{"token":7}`): {1, "token", "wrong_type"},
		detokenization(`{"token":"x","redaction":null}`): {0, "redaction", "wrong_type"}, detokenization(`{"token":"x","redaction":7}`): {0, "redaction", "wrong_type"},
		detokenization(ofToken(token, "plain_text")): {0, "", "redaction_unknown"}, detokenization(`{"token":"x","redaction":""}`): {0, "", "redaction_unknown"},
		detokenization(strings.Repeat(ofToken(token, "")+",", 1000) + ofToken(token, "")): list("list_too_long"),
	} {
		requireProblems(t, r.post(detokenize, body), http.StatusBadRequest, want)
	}
	for _, unknown := range []string{"none", "", strings.Repeat("t", 300), `\u0000`, theirs, elsewhere} {
		requireProblems(t, r.post(detokenize, detokenization(ofToken(token, ""), ofToken(unknown, "REDACTED"))), http.StatusNotFound, problemAt{1, "", "token_not_found"})
	}
	requireProblems(t, r.post("/v1/vaults/none/detokenize", detokenization(ofToken(token, ""))), http.StatusNotFound, problemAt{-1, "", "vault_not_found"})
	require.Equal(t, http.StatusOK, r.post(detokenize, detokenization(strings.TrimSuffix(strings.Repeat(ofToken(token, "")+",", 1000), ","))).Code)

	odd := r.insert("acme", "v1", "persons", "name", "\xff\xfe") // as a Go program can
	requireProblems(t, r.post(detokenize, detokenization(ofToken(token, ""), ofToken(odd, "PLAIN_TEXT"))), http.StatusUnprocessableEntity, problemAt{1, "", "value_not_text"})
	require.Equal(t, http.StatusOK, r.post(detokenize, detokenization(ofToken(odd, "REDACTED"))).Code)
}

// A policy of the host's is asked for plain values by itself. What it forbids there
// bounds the answer, and is no failure.
func TestDetokenizeAuthorize(t *testing.T) {
	answers := make(map[access.Action]error)
	var asked []access.Action
	all := everyVaultOption
	all.Authorize = func(_ context.Context, p httpadapter.Principal, action access.Action, resource access.Resource) error {
		require.Equal(t, access.Resource{Type: access.Vault, ID: "v1"}, resource)
		asked = append(asked, action)
		return answers[action]
	}
	r := newVaultRig(t, &all, nil)
	token := r.insert("acme", "v1", "persons", "email", "ada@example.com")
	ask := func(redaction string) *answer {
		w := r.as("none", http.MethodPost, detokenize, detokenization(ofToken(token, redaction)))
		return &answer{w.Code, w.Body.String()}
	}
	plain, masked := `{"records":[`+revealed(token, "ada@example.com", "PLAIN_TEXT")+`]}`, `{"records":[`+revealed(token, "a********@example.com", "MASKED")+`]}`
	require.Equal(t, &answer{200, plain}, ask(""))
	require.Equal(t, []access.Action{access.Detokenize, access.Reveal}, asked)
	answers[access.Reveal] = httpadapter.ErrForbidden
	require.Equal(t, &answer{200, masked}, ask(""))
	require.Equal(t, http.StatusForbidden, ask("PLAIN_TEXT").status)
	answers[access.Reveal] = errors.New("policy server down")
	require.Equal(t, http.StatusServiceUnavailable, ask("").status)
	require.Contains(t, r.log.String(), "policy server down")
	answers[access.Reveal] = httpadapter.ErrUnauthenticated
	require.Equal(t, http.StatusUnauthorized, ask("").status)
	answers[access.Detokenize] = httpadapter.ErrForbidden
	require.Equal(t, http.StatusForbidden, ask("REDACTED").status)
}

type answer struct {
	status int
	body   string
}

func TestDeleteToken(t *testing.T) {
	r := newVaultRig(t, nil, nil)
	token := r.insert("acme", "v1", "persons", "name", "Ada")
	theirs := r.insert("rival", "v1", "persons", "name", "Ada")
	for _, unknown := range []string{"none", theirs, strings.Repeat("t", 300), "%00", "%ff", "a%2Fb"} {
		requireProblems(t, r.as("full", http.MethodDelete, tokens+unknown, ""), http.StatusNotFound, problemAt{-1, "", "token_not_found"})
	}
	requireProblems(t, r.as("full", http.MethodDelete, "/v1/vaults/none/tokens/"+token, ""), http.StatusNotFound, problemAt{-1, "", "vault_not_found"})
	requireBody(t, r.as("admin", http.MethodDelete, tokens+token, ""), http.StatusOK, `{"token":"`+token+`","deleted":true}`)
	requireProblems(t, r.as("full", http.MethodDelete, tokens+token, ""), http.StatusNotFound, problemAt{-1, "", "token_not_found"})
	requireProblems(t, r.post(tokenize, parameters(ofName("Ada"))), http.StatusNotFound, problemAt{0, "", "value_not_found"})
	requireProblems(t, r.post(detokenize, detokenization(ofToken(token, ""))), http.StatusNotFound, problemAt{0, "", "token_not_found"})
	page, err := r.service.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Kind: mortise.KindDeleted})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.EqualValues(t, "client:admin", page.Items[0].Actor)

	const strange = "a/b \"%\n"
	odd := newVaultRig(t, nil, &vault.Options{Tokenizer: fixedTokenizer(strange)})
	odd.insert("acme", "v1", "persons", "name", "Ada")
	w := odd.as("full", http.MethodDelete, tokens+url.PathEscape(strange), "")
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.JSONEq(t, `{"token":`+quoteJSON(strange)+`,"deleted":true}`, w.Body.String())
}
