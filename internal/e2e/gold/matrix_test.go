package gold

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// matrixRow is an operation, on something of acme that is made for this one request,
// which succeeds for whoever may.
type matrixRow struct {
	operation string
	on        string // what tells this row from others of the operation
	request   func(r *matrixRig) (method, path, body string)
}

// plain is a request that needs nothing to be there.
func plain(method, path, body string) func(*matrixRig) (string, string, string) {
	return func(*matrixRig) (string, string, string) { return method, path, body }
}

// The roles of what is asked for. No roles are full access.
var (
	asViewer        = []access.Role{{ID: "viewer"}}
	asViewerOfD1    = []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}}
	asClientsViewer = []access.Role{{ID: "viewer", Resource: "client"}}
	asInviteViewer  = []access.Role{{ID: "viewer", Resource: "invitation"}}
	asFull          []access.Role
)

// onClient asks for something of a client with these roles.
func onClient(method, rest, body string, holds []access.Role) func(*matrixRig) (string, string, string) {
	return func(r *matrixRig) (string, string, string) {
		return method, clientsAt + "/" + r.client(holds...) + rest, body
	}
}

func onSecret(holds []access.Role) func(*matrixRig) (string, string, string) {
	return func(r *matrixRig) (string, string, string) {
		c, err := r.auth.Client(r.t.Context(), "acme", r.client(holds...))
		require.NoError(r.t, err)
		return "DELETE", clientsAt + "/" + c.ID + "/secrets/" + c.Secrets[0].ID.String(), ""
	}
}

func onInvitation(method, rest string, holds []access.Role) func(*matrixRig) (string, string, string) {
	return func(r *matrixRig) (string, string, string) {
		i := r.invitation(holds...)
		return method, invitationsAt + "/" + i.ID + rest, ""
	}
}

func onToken(holds []access.Role) func(*matrixRig) (string, string, string) {
	return func(r *matrixRig) (string, string, string) { return "DELETE", issuedAt + "/" + r.token(holds...), "" }
}

func onLink(method string) func(*matrixRig) (string, string, string) {
	return func(r *matrixRig) (string, string, string) {
		i := r.invitation(asViewer...)
		token, err := r.auth.LinkToken(r.t.Context(), &i)
		require.NoError(r.t, err)
		return method, httpadapter.AcceptPath + token.Reveal(), ""
	}
}

func newInvitation(roles string) func(*matrixRig) (string, string, string) {
	return func(r *matrixRig) (string, string, string) {
		return "POST", invitationsAt, `{"email":"` + r.next() + `@example.com","name":"Ada"` + roles + `}`
	}
}

func onVault(rest string, body func(value, token string) string) func(*matrixRig) (string, string, string) {
	return func(r *matrixRig) (string, string, string) { return "POST", "/v1/vaults/v1/" + rest, body(r.value()) }
}

func detokenizing(redaction string) func(value, token string) string {
	return func(_, token string) string {
		return `{"detokenizationParameters":[{"token":"` + token + `","redaction":"` + redaction + `"}]}`
	}
}

func onSearch(method, what string) func(*matrixRig) (string, string, string) {
	return func(r *matrixRig) (string, string, string) {
		return method, "/api/v0/search/metadata-filters/job/" + what + "/" + r.run() + "?dataset_id=d1", ""
	}
}

const (
	giveViewer        = `"roles":[{"role_id":"viewer"}]`
	giveClientsViewer = `"roles":[{"role_id":"viewer","resource":"client"}]`
	giveInviteViewer  = `"roles":[{"role_id":"viewer","resource":"invitation"}]`
)

var matrixRows = []matrixRow{
	{"submitApiTrigger", "", plain("POST", "/triggers", `{"instructions":"Describe it."}`)},
	{"listTriggers", "", plain("GET", "/triggers", "")},
	{"getTrigger", "", func(r *matrixRig) (string, string, string) { return "GET", "/triggers/" + r.event(), "" }},
	{"cancelTrigger", "", func(r *matrixRig) (string, string, string) { return "POST", "/triggers/" + r.event() + "/cancel", "" }},
	{"retryTrigger", "", func(r *matrixRig) (string, string, string) {
		return "POST", "/triggers/" + r.cancelled() + "/retry", ""
	}},
	{"runTrigger", "", func(r *matrixRig) (string, string, string) { return "POST", "/triggers/" + r.event() + "/run", "" }},
	{"cancelTriggers", "", plain("POST", "/triggers/cancel?source=nowhere", "")},
	{"retryTriggers", "", plain("POST", "/triggers/retry?source=nowhere", "")},

	{"updateClient", "rename, full", onClient("PUT", "", `{"name":"x","roles":[]}`, asFull)},
	{"updateClient", "open", onClient("PUT", "", `{}`, asViewer)},
	{"updateClient", "narrow, full", onClient("PUT", "", `{`+giveClientsViewer+`}`, asFull)},
	{"updateClient", "narrow, viewer", onClient("PUT", "", `{`+giveClientsViewer+`}`, asViewer)},
	{"updateClient", "viewer/client", onClient("PUT", "", `{"roles":[{"role_id":"editor","resource":"client"}]}`, asClientsViewer)},
	{"updateClient", "context d1", onClient("PUT", "", `{"roles":[],"roles_context":"dataset:d1"}`, append(asViewerOfD1[:1:1], asViewer...))},
	{"createClient", "full", plain("POST", clientsAt, `{"name":"x"}`)},
	{"createClient", "viewer", plain("POST", clientsAt, `{"name":"x",`+giveViewer+`}`)},
	{"createClient", "viewer/client", plain("POST", clientsAt, `{"name":"x",`+giveClientsViewer+`}`)},
	{"listClients", "", plain("GET", clientsAt, "")},
	{"getClient", "full", onClient("GET", "", "", asFull)},
	{"deleteClient", "full", onClient("DELETE", "", "", asFull)},
	{"deleteClient", "viewer", onClient("DELETE", "", "", asViewer)},
	{"deleteClient", "viewer/client", onClient("DELETE", "", "", asClientsViewer)},
	{"rotateClientSecret", "full", onClient("POST", "/rotate-secret", "", asFull)},
	{"rotateClientSecret", "viewer", onClient("POST", "/rotate-secret", "", asViewer)},
	{"rotateClientSecret", "viewer/client", onClient("POST", "/rotate-secret", "", asClientsViewer)},
	{"listClientSecrets", "full", onClient("GET", "/secrets", "", asFull)},
	{"revokeClientSecret", "full", onSecret(asFull)},
	{"revokeClientSecret", "viewer", onSecret(asViewer)},
	{"revokeClientSecret", "viewer/client", onSecret(asClientsViewer)},
	{"listTokens", "", plain("GET", issuedAt, "")},
	{"revokeToken", "full", onToken(asFull)},
	{"revokeToken", "viewer", onToken(asViewer)},
	{"revokeToken", "viewer/client", onToken(asClientsViewer)},

	{"createUserInvitation", "full", newInvitation("")},
	{"createUserInvitation", "viewer", newInvitation("," + giveViewer)},
	{"createUserInvitation", "viewer/invite", newInvitation("," + giveInviteViewer)},
	{"listUserInvitations", "", plain("GET", invitationsAt, "")},
	{"getUserInvitation", "full", onInvitation("GET", "", asFull)},
	{"resendUserInvitation", "full", onInvitation("POST", "/resend", asFull)},
	{"resendUserInvitation", "viewer", onInvitation("POST", "/resend", asViewer)},
	{"resendUserInvitation", "viewer/invite", onInvitation("POST", "/resend", asInviteViewer)},
	{"deleteUserInvitation", "full", onInvitation("DELETE", "", asFull)},
	{"deleteUserInvitation", "viewer", onInvitation("DELETE", "", asViewer)},
	{"deleteUserInvitation", "viewer/invite", onInvitation("DELETE", "", asInviteViewer)},
	{"showInvitation", "", onLink("GET")},
	{"acceptInvitation", "", onLink("POST")},
	{"login", "", plain("POST", loginAt, `{"grant_type":"client_credentials","client_id":"x","client_secret":"x"}`)},

	{"tokenize", "", onVault("tokenize", func(value, _ string) string {
		return `{"tokenizationParameters":[{"table":"persons","column":"name","value":"` + value + `"}]}`
	})},
	{"insertRecords", "", onVault("persons", func(value, _ string) string { return `{"records":[{"fields":{"name":"` + value + `"}}]}` })},
	{"detokenize", "masked", onVault("detokenize", detokenizing("MASKED"))},
	{"detokenize", "plain", onVault("detokenize", detokenizing("PLAIN_TEXT"))},
	{"deleteToken", "", func(r *matrixRig) (string, string, string) {
		_, token := r.value()
		return "DELETE", "/v1/vaults/v1/tokens/" + token, ""
	}},

	{"searchAudioSound", "", plain("POST", "/api/v0/search/metadata-filters/audio-sound", `{"dataset_id":"d1","audio_class":"Silence"}`)},
	{"getSearchRunStatus", "", onSearch("GET", "status")},
	{"getSearchRunResult", "", onSearch("GET", "result")},
	{"cancelSearchRun", "", onSearch("POST", "cancel")},
}

// TestMatrix compares what each kind of caller is answered by each operation, on each
// storage. "updateClient open" takes the last role away; "full" is something that holds
// or gives full access, "viewer/client" a viewer's role on clients.
//
// 401 comes first. Whoever may not do the operation at all is told 403. Then what is
// another organization's is 404 like what is unknown. Whoever would give or take more
// than they hold is told 403.
func TestMatrix(t *testing.T) {
	for n, s := range storages {
		t.Run(s.name, func(t *testing.T) {
			r := newMatrixRig(t, s.open(t))
			compare(t, "matrix.txt", r.matrix(), n == 0)

			var mounted, asked []string
			for _, id := range r.operations {
				mounted = append(mounted, id)
			}
			for _, row := range matrixRows {
				asked = append(asked, row.operation)
			}
			slices.Sort(mounted)
			slices.Sort(asked)
			assert.Equal(t, mounted, slices.Compact(asked), "every operation has a row")
		})
	}
}

// TestNamesThatAreNone: whatever part of a path or value of a query is U+0000, or no UTF-8, no
// operation fails because of it, on no storage.
func TestNamesThatAreNone(t *testing.T) {
	part := regexp.MustCompile(`[^/?&=]+`)
	for _, s := range storages {
		t.Run(s.name, func(t *testing.T) {
			r := newMatrixRig(t, s.open(t))
			for _, row := range matrixRows {
				method, path, body := row.request(r)
				if method == "GET" {
					path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "source=x&idempotency_key=x&status=x&cursor=x&inviter=x&actor=x"
				}
				for _, at := range part.FindAllStringIndex(path, -1) {
					for _, none := range []string{"%00", "%FF", "a%00"} {
						odd := path[:at[0]] + none + path[at[1]:]
						for _, caller := range []string{"full", "key"} {
							assert.Less(t, r.send(caller, method, odd, body), 500, "%s %s", method, odd)
						}
					}
				}
			}
		})
	}
}

// matrix asks everything by everybody, and returns the statuses as a table.
func (r *matrixRig) matrix() string {
	var b strings.Builder
	for i, c := range matrixCallers {
		fmt.Fprintf(&b, "%c %s\n", 'A'+i, c.name)
	}
	fmt.Fprintf(&b, "%-34s", "")
	for i := range matrixCallers {
		fmt.Fprintf(&b, "   %c", 'A'+i)
	}
	for _, row := range matrixRows {
		fmt.Fprintf(&b, "\n%-34s", strings.TrimSpace(row.operation+" "+row.on))
		for _, c := range matrixCallers {
			method, path, body := row.request(r)
			fmt.Fprintf(&b, " %d", r.send(c.name, method, path, body))
		}
	}
	return b.String() + "\n"
}
