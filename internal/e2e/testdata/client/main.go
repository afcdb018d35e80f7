// Command client calls every operation of the example server's demo by a client that
// oapi-codegen has made of the server's OpenAPI document. The generated code, client.gen.go, is
// not in the repository: the test makes it beside a copy of this file.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	_ "github.com/oapi-codegen/runtime" // which the generated code imports
	openapi_types "github.com/oapi-codegen/runtime/types"
)

func main() {
	address := os.Getenv("CLIENT_ADDRESS")
	triggers := caller{connect(address, bearer(os.Getenv("CLIENT_KEY"))), context.Background()}
	services := caller{connect(address, bearer(os.Getenv("CLIENT_TOKEN"))), context.Background()}
	triggers.triggers()
	triggers.triggerActions()
	services.manyTriggers()
	services.clients()
	services.invitations()
	services.vault()
	services.search()
}

// caller calls operations. A failure ends the program.
type caller struct {
	*ClientWithResponses
	ctx context.Context
}

func connect(address string, credentials RequestEditorFn) *ClientWithResponses {
	c, err := NewClientWithResponses(address, WithRequestEditorFn(credentials))
	check(err)
	return c
}

func bearer(token string) RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// answer is implemented by the generated types of answers.
type answer interface {
	StatusCode() int
	GetBody() []byte
}

// ok returns an answer of success.
func ok[A answer](a A, err error) A {
	check(err)
	if a.StatusCode() >= 300 {
		check(fmt.Errorf("%T: %d %s", a, a.StatusCode(), a.GetBody()))
	}
	return a
}

func (c *caller) triggers() {
	body := TriggerRequest{Instructions: "Describe it.", Context: &map[string]any{"commit": "4f2a9c1"}}
	made := ok(c.SubmitApiTriggerWithResponse(c.ctx, &SubmitApiTriggerParams{IdempotencyKey: new("build-1742")}, body))
	id := made.JSON202.TriggerEventId
	for ok(c.GetTriggerWithResponse(c.ctx, id, nil)).JSON200.Status != "completed" {
		time.Sleep(20 * time.Millisecond)
	}
	page := ok(c.ListTriggersWithResponse(c.ctx, &ListTriggersParams{Limit: new(1), Status: new(TriggerStatus("completed"))})).JSON200
	if page.Triggers[0].TriggerEventId != id || path.Base(*made.Headers202.Location) != id.String() {
		check(fmt.Errorf("the event %s is not first of %+v, or not at %+v", id, page, made.Headers202))
	}
}

// later is an event that waits for tomorrow.
func (c *caller) later() openapi_types.UUID {
	tomorrow := time.Now().Add(24 * time.Hour)
	made := ok(c.SubmitApiTriggerWithResponse(c.ctx, &SubmitApiTriggerParams{TriggerNotBefore: &tomorrow}, TriggerRequest{Instructions: "Later."}))
	return made.JSON202.TriggerEventId
}

func (c *caller) triggerActions() {
	ok(c.RunTriggerWithResponse(c.ctx, c.later(), nil))
	id := c.later()
	if e := ok(c.CancelTriggerWithResponse(c.ctx, id, nil)).JSON200; e.Status != "cancelled" || e.DueAt != nil || len(e.AttemptsLog) != 0 {
		check(fmt.Errorf("cancelled: %+v", e))
	}
	if e := ok(c.RetryTriggerWithResponse(c.ctx, id, nil)).JSON200; e.Status != "received" || e.Generation != 1 {
		check(fmt.Errorf("retried: %+v", e))
	}
}

func (c *caller) manyTriggers() {
	cancelled := ok(c.CancelTriggersWithResponse(c.ctx, &CancelTriggersParams{Source: new("nowhere")})).JSON200
	retried := ok(c.RetryTriggersWithResponse(c.ctx, &RetryTriggersParams{Status: new(TriggerStatus("superseded"))})).JSON200
	if cancelled.Changed != 0 || retried.More {
		check(fmt.Errorf("many: %+v, %+v", cancelled, retried))
	}
}

func (c *caller) clients() {
	made := ok(c.CreateClientWithResponse(c.ctx, nil, ClientCreation{Name: "CI"})).JSON201
	id := made.ClientId
	ok(c.ListClientsWithResponse(c.ctx, &ListClientsParams{Limit: new(10)}))
	ok(c.GetClientWithResponse(c.ctx, id, nil))
	roles := []GivenRole{{RoleId: "viewer"}}
	ok(c.UpdateClientWithResponse(c.ctx, id, nil, ClientUpdate{Name: new("build"), Roles: &roles}))

	basic := func(_ context.Context, r *http.Request) error {
		r.SetBasicAuth(id, made.ClientSecret)
		return nil
	}
	ok(c.LoginWithFormdataBodyWithResponse(c.ctx, nil, TokenRequest{GrantType: "client_credentials"}, basic))
	for _, token := range ok(c.ListTokensWithResponse(c.ctx, nil)).JSON200.Data {
		if token.ClientId != nil && *token.ClientId == id {
			ok(c.RevokeTokenWithResponse(c.ctx, token.TokenId, nil))
		}
	}
	ok(c.RotateClientSecretWithResponse(c.ctx, id, nil, SecretRotation{OverlapSeconds: new(60)}))
	secrets := ok(c.ListClientSecretsWithResponse(c.ctx, id, nil)).JSON200.Data
	ok(c.RevokeClientSecretWithResponse(c.ctx, id, secrets[0].SecretId, nil))
	ok(c.DeleteClientWithResponse(c.ctx, id, nil))
}

func (c *caller) invitations() {
	invite := func(email string) *UserInvitation {
		return ok(c.CreateUserInvitationWithResponse(c.ctx, nil, NewInvitation{Email: &email, Name: new("Grace")})).JSON201
	}
	first, second := invite("grace@example.com"), invite("alan@example.com")
	ok(c.ListUserInvitationsWithResponse(c.ctx, nil))
	ok(c.GetUserInvitationWithResponse(c.ctx, first.InvitationId, nil))
	again := ok(c.ResendUserInvitationWithResponse(c.ctx, first.InvitationId, nil)).JSON200
	link := path.Base(again.InvitationUrl)
	ok(c.ShowInvitationWithResponse(c.ctx, link, nil))
	ok(c.AcceptInvitationWithResponse(c.ctx, link, nil))
	ok(c.DeleteUserInvitationWithResponse(c.ctx, second.InvitationId, nil))
}

func (c *caller) vault() {
	const vault, email, masked = "demo", "grace@example.com", "g********@example.com"
	fields := map[string]string{"email": email}
	inserted := ok(c.InsertRecordsWithResponse(c.ctx, vault, "customers", nil, InsertionRequest{Records: []NewRecord{{Fields: fields}}}))
	token := (*inserted.JSON200.Records[0].Tokens)["email"]
	item := TokenizationParameter{Value: email, ColumnGroup: new("emails")}
	found := ok(c.TokenizeWithResponse(c.ctx, vault, nil, TokenizationRequest{TokenizationParameters: []TokenizationParameter{item}}))
	shown := ok(c.DetokenizeWithResponse(c.ctx, vault, nil, DetokenizationRequest{
		DetokenizationParameters: []DetokenizationParameter{{Token: token}, {Token: token, Redaction: new(DetokenizationParameterRedaction("PLAIN_TEXT"))}},
	})).JSON200.Records
	if found.JSON200.Records[0].Token != token || shown[0].Value != masked || shown[1].Value != email {
		check(fmt.Errorf("inserted %s, found %+v, shown %+v", token, found.JSON200, shown))
	}
	ok(c.DeleteTokenWithResponse(c.ctx, vault, token, nil))
}

func (c *caller) search() {
	const dataset = "sounds"
	query := AudioSoundSearch{DatasetId: dataset, AudioClass: "Dial tone", MinScore: new(float32(0.5))}
	run := ok(c.SearchAudioSoundWithResponse(c.ctx, nil, query)).JSON200.RunId
	for ok(c.GetSearchRunStatusWithResponse(c.ctx, run, &GetSearchRunStatusParams{DatasetId: dataset})).JSON200.State != "TERMINATED" {
		time.Sleep(20 * time.Millisecond)
	}
	result := ok(c.GetSearchRunResultWithResponse(c.ctx, run, &GetSearchRunResultParams{DatasetId: dataset})).JSON200
	if len(*result.Results) == 0 || !strings.HasPrefix((*result.Results)[0].Video.VideoId, "office") {
		check(fmt.Errorf("the dial tone was not found: %+v", result))
	}
	// The run has ended, most likely: then there is nothing to cancel.
	cancelled, err := c.CancelSearchRunWithResponse(c.ctx, run, &CancelSearchRunParams{DatasetId: dataset})
	check(err)
	if cancelled.JSON409 == nil {
		ok(cancelled, nil)
	}
}
