package httpadapter_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/vault"
)

// What AllowByAccess shows is what the handler answers, for every set of actions,
// wherever it is bound to, and every redaction that can be asked for.
func TestAllowByAccessIsWhatTheHandlerShows(t *testing.T) {
	catalogue, err := access.NewCatalogue(map[string][]access.Action{
		"neither": {access.Tokenize, access.InsertRecords, access.DeleteToken},
		"masked":  {access.Detokenize},
		"reveal":  {access.Reveal},
		"both":    {access.Reveal, access.Detokenize},
		"any":     {access.AnyAction},
	})
	require.NoError(t, err)
	accesses := map[string]access.Access{"zero": {}, "full": access.Full()}
	for _, bound := range []access.Role{
		{}, {Resource: "vault"}, {Resource: "vault", ResourceInstance: "v1"}, {Resource: "vault", ResourceInstance: "v2"},
		{Resource: "dataset"}, {Resource: "dataset", ResourceInstance: "v1"},
	} {
		for _, id := range catalogue.Roles() {
			role := bound
			role.ID = id
			accesses[fmt.Sprintf("%s of %s %s", id, role.Resource, role.ResourceInstance)] = catalogue.Access(role)
		}
	}
	accesses["from two roles"] = catalogue.Access(
		access.Role{ID: "masked"}, access.Role{ID: "reveal", Resource: "vault", ResourceInstance: "v1"})

	r := newVaultRig(t, nil, nil)
	token := map[string]string{}
	for _, id := range []string{"v1", "v2"} {
		token[id] = r.insert("acme", id, "persons", "email", "ada@example.com")
	}
	redactions := map[string]vault.Redaction{
		"DEFAULT": "", "PLAIN_TEXT": vault.PlainText, "MASKED": vault.Masked, "REDACTED": vault.Redacted,
	}
	values := map[vault.Redaction]string{
		vault.PlainText: "ada@example.com", vault.Masked: "a********@example.com", vault.Redacted: "*REDACTED*",
	}
	seen := map[vault.Redaction]int{}
	for name, access := range accesses {
		auth := httpadapter.Bearer(func(context.Context, string) (httpadapter.Principal, error) {
			return httpadapter.Principal{Organization: "acme", Subject: "ada", Access: access}, nil
		})
		h, err := httpadapter.NewVault(r.service, auth, &everyVaultOption)
		require.NoError(t, err)
		for _, id := range []string{"v1", "v2"} {
			allow := httpadapter.AllowByAccess(access)
			most := allow(vault.Field{Organization: "acme", Vault: id, Table: "persons", Column: "email"})
			seen[most]++
			for asked, redaction := range redactions {
				what := fmt.Sprintf("%s asks for %s in %s", name, asked, id)
				req := httptest.NewRequest("POST", "/v1/vaults/"+id+"/detokenize",
					strings.NewReader(detokenization(ofToken(token[id], asked))))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Authorization", "Bearer x")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, req)

				got, err := r.service.Detokenize(t.Context(), "acme", "ada", id,
					[]vault.DetokenizeItem{{Token: token[id], Redaction: redaction}}, allow)
				ofRedaction := strings.Contains(w.Body.String(), "redaction_not_allowed")
				switch {
				case w.Code == http.StatusOK:
					require.NoError(t, err, what)
					require.Contains(t, w.Body.String(), `"value":"`+got[0].Value.Reveal()+`"`, what)
					require.Equal(t, values[got[0].Redaction], got[0].Value.Reveal(), what)
				case ofRedaction:
					require.ErrorIs(t, err, vault.ErrForbidden, what)
				default: // the operation as such
					require.Equal(t, "These credentials do not allow this operation.",
						requireProblems(t, w, http.StatusForbidden), what)
					require.Equal(t, vault.Redacted, most, what)
				}
				if asked == "DEFAULT" && w.Code == http.StatusOK {
					require.Equal(t, most, got[0].Redaction, what)
				}
				require.Equal(t, most == vault.Redacted, w.Code == http.StatusForbidden && !ofRedaction, what)
			}
		}
	}
	require.Len(t, seen, 3)
	require.Equal(t, vault.Redacted, httpadapter.AllowByAccess(access.Access{})(vault.Field{Vault: "v1"}))
	require.Equal(t, vault.Masked, httpadapter.AllowByAccess(accesses["from two roles"])(vault.Field{Vault: "v2"}))
	require.Equal(t, vault.PlainText, httpadapter.AllowByAccess(accesses["from two roles"])(vault.Field{Vault: "v1"}))
	require.Equal(t, vault.Redacted, httpadapter.AllowByAccess(accesses["reveal of  "])(vault.Field{Vault: "v1"}))
}
