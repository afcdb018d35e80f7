package provision

import (
	"strings"
	"testing"
)

const docSecret = "cs-0123456789abcdef0123456789abcdef"

// invitationWith returns a document with an invitation of the email address, and more
// members of it.
func invitationWith(email, more string) string {
	return `{"organizations":[{"id":"a","invitations":[{"invitation_id":"i","inviter":{"name":"g"},"invitee":{"email":"` + email + `","name":"n"}` + more + `}]}]}`
}

func clientWith(roles string) string {
	return `{"organizations":[{"id":"a","clients":[{"client_id":"c","client_secret":"` + docSecret + `","name":"n","roles":` + roles + `}]}]}`
}

func TestDocumentOfAuthMgmtRefused(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"unknown role":         {clientWith(`[{"role_id":"viewer"},{"role_id":"root"}]`), "line 1, column 163: organizations[0].clients[0].roles[1].role_id: is not one of the roles 'admin', 'editor', 'viewer'"},
		"case of a role":       {clientWith(`[{"role_id":"Admin"}]`), "roles[0].role_id: is not one of"},
		"no role":              {clientWith(`[{"resource":"dataset"}]`), "roles[0]: role_id is missing"},
		"instance of nothing":  {clientWith(`[{"role_id":"viewer","resource_instance":"d1"}]`), "line 1, column 171: organizations[0].clients[0].roles[0].resource_instance: needs a resource"},
		"instance of null":     {clientWith(`[{"role_id":"viewer","resource":null,"resource_instance":"d1"}]`), "resource_instance: needs a resource"},
		"empty resource":       {clientWith(`[{"role_id":"viewer","resource":""}]`), "roles[0].resource: must not be empty"},
		"long resource":        {clientWith(`[{"role_id":"viewer","resource":"` + strings.Repeat("x", 256) + `"}]`), "roles[0].resource: must be at most 255"},
		"too many roles":       {clientWith(`[` + strings.Repeat(`{"role_id":"viewer"},`, 100) + `{"role_id":"viewer"}]`), "clients[0].roles: must be at most 100"},
		"client twice":         {`{"organizations":[{"id":"a","clients":[{"client_id":"c","client_secret":"` + docSecret + `","name":"n"},{"client_id":"c","client_secret":"` + docSecret + `2","name":"n"}]}]}`, "clients[1].client_id: is the same as at"},
		"token and secret":     {`{"organizations":[{"id":"a","access_tokens":[{"token":"` + docSecret + `","subject":"s"}],"clients":[{"client_id":"c","client_secret":"` + docSecret + `","name":"n"}]}]}`, "client_secret: is the same secret as at"},
		"revoked of a string":  {`{"organizations":[{"id":"a","access_tokens":[{"token":"` + docSecret + `","subject":"s","revoked":"true"}]}]}`, "access_tokens[0].revoked: must be true or false"},
		"revoked of null":      {`{"organizations":[{"id":"a","access_tokens":[{"token":"` + docSecret + `","subject":"s","revoked":null}]}]}`, "access_tokens[0].revoked: must be true or false"},
		"no subject":           {`{"organizations":[{"id":"a","access_tokens":[{"token":"` + docSecret + `"}]}]}`, "access_tokens[0]: subject is missing"},
		"no invitee":           {`{"organizations":[{"id":"a","invitations":[{"invitation_id":"i","inviter":{"name":"g"}}]}]}`, "invitations[0]: invitee is missing"},
		"invitee's bad role":   {`{"organizations":[{"id":"a","invitations":[{"invitation_id":"i","inviter":{"name":"g"},"invitee":{"email":"e@x","name":"n","roles":[{"role_id":"x"}]}}]}]}`, "invitee.roles[0].role_id: is not one of"},
		"bad email":            {invitationWith("nobody", ""), "line 1, column 107: organizations[0].invitations[0].invitee.email: must be an email address"},
		"30 days and a moment": {invitationWith("e@x", `,"expires_in":"720h0m0.000001s"`), "expires_in: must be a duration above zero, as in 168h or 90m, and at most 720h"},
		"no time":              {invitationWith("e@x", `,"expires_in":"0s"`), "expires_in: must be a duration"},
		"too short to store":   {invitationWith("e@x", `,"expires_in":"999ns"`), "expires_in: must be a duration"},
		"days":                 {invitationWith("e@x", `,"expires_in":"7d"`), "expires_in: must be a duration"},
		"number":               {invitationWith("e@x", `,"expires_in":3600`), "expires_in: must be a string"},
		"rbac of null":         {`{"organizations":[{"id":"a","rbac_enabled":null}]}`, "rbac_enabled: must be true or false"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readText(t, test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			if strings.Contains(err.Error(), docSecret) {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
	for _, text := range []string{
		invitationWith("e@x", `,"expires_in":"720h"`), invitationWith("e@x", `,"expires_in":"1us"`), invitationWith("e@x", ""),
		clientWith(`[]`), clientWith(`[{"role_id":"viewer","resource":"dataset","resource_instance":null}]`), clientWith(`[{"role_id":"viewer","resource":null}]`),
	} {
		if _, err := readText(t, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
