package main

import "text/template"

// demoPage is what the demo's text says.
type demoPage struct {
	demoPlace
	Key, Token string
	Start      string // different at each start: an email address has one pending invitation at most
}

// Clients, Invitations, Tokens, Vault, Search, Auth and JSON are parts of the commands.
func (p demoPage) Clients() string     { return p.URL + "/api/v1/auth-management/clients" }
func (p demoPage) Invitations() string { return p.URL + "/api/v1/auth-management/user-invitations" }
func (p demoPage) Tokens() string      { return p.URL + "/api/v1/auth-management/tokens" }
func (p demoPage) Vault() string       { return p.URL + "/v1/vaults/" + demoVault }
func (p demoPage) Search() string      { return p.URL + "/api/v0/search/metadata-filters" }
func (p demoPage) Auth() string        { return "-H 'Authorization: Bearer " + p.Token + "'" }
func (p demoPage) JSON() string        { return p.Auth() + " -H 'Content-Type: application/json'" }

// demoText are lines to paste into a POSIX shell. Each command stands on one line and needs nothing but the shell, what POSIX has with it, and curl.
var demoText = template.Must(template.New("demo").Parse(`
# This is a demo, with an API key and an access token of its own that end with it. Paste these lines into another terminal.
# What you send is kept {{.Kept}}.

# Submit a trigger:
curl -sS -w '\n' {{.URL}}/triggers -H 'Authorization: Bearer {{.Key}}' -H 'Content-Type: application/json' -d '{"instructions":"Describe the new sign-in page in the user guide.","context":{"commit":"4f2a9c1"}}'

# List the history, newest first:
curl -sS -w '\n' '{{.URL}}/triggers?limit=10' -H 'Authorization: Bearer {{.Key}}'

# Submit another one, and read it back by its ID:
id=$(curl -sS {{.URL}}/triggers -H 'Authorization: Bearer {{.Key}}' -H 'Content-Type: application/json' -d '{"instructions":"Add the release notes."}') && id=${id#*:\"} && curl -sS -w '\n' "{{.URL}}/triggers/${id%\"*}" -H 'Authorization: Bearer {{.Key}}'

# See how a mistake is answered (422):
curl -sS -w '\n%{http_code}\n' {{.URL}}/triggers -H 'Authorization: Bearer {{.Key}}' -H 'Content-Type: application/json' -d '{"instructions":"","priority":1}'

# Create credentials, with full access. The answer shows their secret, this once:
curl -sS -w '\n' {{.Clients}} {{.JSON}} -d '{"name":"nightly build"}'

# Create others, and exchange their secret for an access token:
c=$(curl -sS {{.Clients}} {{.JSON}} -d '{"name":"release job"}') && id=${c#*\"client_id\":\"} && secret=${c#*\"client_secret\":\"} && curl -sS -w '\n' -u "${id%%\"*}:${secret%%\"*}" {{.URL}}/api/v0/login -d grant_type=client_credentials

# Create more, rename them, and let them only look:
c=$(curl -sS {{.Clients}} {{.JSON}} -d '{"name":"new"}') && id=${c#*\"client_id\":\"} && curl -sS -w '\n' -X PUT "{{.Clients}}/${id%%\"*}" {{.JSON}} -d '{"name":"dashboard","roles":[{"role_id":"viewer"}]}'

# Invite somebody. Open the invitation_url of the answer in a browser and accept: the page then shows an access token, this once:
curl -sS -w '\n' {{.Invitations}} {{.JSON}} -d '{"email":"ada+{{.Start}}@example.com","name":"Ada","roles":[{"role_id":"editor"}]}'

# Invite somebody else, read the invitation, and cancel it (200):
i=$(curl -sS {{.Invitations}} {{.JSON}} -d '{"email":"alan+{{.Start}}@example.com","name":"Alan"}') && id=${i#*\"invitation_id\":\"} && id=${id%%\"*} && curl -sS -w '\n' "{{.Invitations}}/$id" {{.Auth}} && curl -sS -w '%{http_code}\n' -X DELETE "{{.Invitations}}/$id" {{.Auth}}

# Get an access token with other credentials, list it (the newest stands first), and revoke it (200):
c=$(curl -sS {{.Clients}} {{.JSON}} -d '{"name":"old laptop"}') && id=${c#*\"client_id\":\"} && secret=${c#*\"client_secret\":\"} && t=$(curl -sS -u "${id%%\"*}:${secret%%\"*}" {{.URL}}/api/v0/login -d grant_type=client_credentials) && t=$(curl -sS '{{.Tokens}}?limit=1' {{.Auth}}) && echo "$t" && id=${t#*\"token_id\":\"} && curl -sS -w '%{http_code}\n' -X DELETE "{{.Tokens}}/${id%%\"*}" {{.Auth}}

# Get the tokens of values that the demo's vault has, by column group and by column. They stay the same, at every start:
curl -sS -w '\n' {{.Vault}}/tokenize {{.JSON}} -d '{"tokenizationParameters":[{"columnGroup":"emails","value":"ada@example.com"},{"table":"customers","column":"card","value":"4111111111111111"}]}'

# Put a record into the vault, and get its tokens. A value that is there already keeps its token:
curl -sS -w '\n' {{.Vault}}/customers {{.JSON}} -d '{"records":[{"fields":{"email":"ada@example.com","card":"5555555555554444"}}]}'

# Get the token of a card, and see what is behind it: masked, and as it is. The audit trail notes who saw it:
t=$(curl -sS {{.Vault}}/tokenize {{.JSON}} -d '{"tokenizationParameters":[{"table":"customers","column":"card","value":"4111111111111111"}]}') && t=${t#*\"token\":\"} && t=${t%%\"*} && curl -sS -w '\n' {{.Vault}}/detokenize {{.JSON}} -d '{"detokenizationParameters":[{"token":"'"$t"'","redaction":"MASKED"},{"token":"'"$t"'","redaction":"PLAIN_TEXT"}]}'

# See how a value that the vault does not have is answered (404):
curl -sS -w '\n%{http_code}\n' {{.Vault}}/tokenize {{.JSON}} -d '{"tokenizationParameters":[{"columnGroup":"emails","value":"nobody@example.com"}]}'

# Start a search for a sound. The answer names the run:
curl -sS -w '\n' {{.Search}}/audio-sound {{.JSON}} -d '{"dataset_id":"sounds","audio_class":"Dial tone","limit":3}'

# Start another one, in the videos of some places only, and see how far it is:
r=$(curl -sS {{.Search}}/audio-sound {{.JSON}} -d '{"dataset_id":"sounds","audio_class":"White noise","metadata_filters":[{"key":"floor","op":">=","value":"1"}]}') && r=${r#*:} && curl -sS -w '\n' "{{.Search}}/job/status/${r%\}*}?dataset_id=sounds" {{.Auth}}

# Start one more, wait for its end, and read what it found: where, when, and how sure that is:
r=$(curl -sS {{.Search}}/audio-sound {{.JSON}} -d '{"dataset_id":"sounds","audio_class":"Smoke detector, smoke alarm","limit":2}') && r=${r#*:} && r=${r%\}*} && until curl -sS "{{.Search}}/job/status/$r?dataset_id=sounds" {{.Auth}} | grep -q TERMINATED; do sleep 1; done && curl -sS -w '\n' "{{.Search}}/job/result/$r?dataset_id=sounds" {{.Auth}}
{{if not .Model}}
# See how a sound is answered that this server cannot find without a model (422):
curl -sS -w '\n%{http_code}\n' {{.Search}}/audio-sound {{.JSON}} -d '{"dataset_id":"sounds","audio_class":"Bark"}'
{{end}}
# Search with a browser, and listen to what is found: {{.URL}}/search
# It asks for the access token, which is {{.Token}}
{{if .Docs}}
# Read the API reference: {{.URL}}/docs
{{end}}`))
