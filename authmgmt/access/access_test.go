package access_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// matrix is the design's: who may do what. Every action of the library stands in it once.
var matrix = []struct {
	action                access.Action
	resource              access.ResourceType
	viewer, editor, admin bool
}{
	{access.SubmitTrigger, access.Trigger, false, true, true},
	{access.GetTrigger, access.Trigger, true, true, true},
	{access.ListTriggers, access.Trigger, true, true, true},
	{access.CancelTrigger, access.Trigger, false, true, true},
	{access.RetryTrigger, access.Trigger, false, true, true},
	{access.RunTrigger, access.Trigger, false, true, true},
	{access.ChangeTriggers, access.Trigger, false, false, true},

	{access.Tokenize, access.Vault, true, true, true},
	{access.InsertRecords, access.Vault, false, true, true},
	{access.Detokenize, access.Vault, false, true, true},
	{access.Reveal, access.Vault, false, false, true},
	{access.DeleteToken, access.Vault, false, false, true},
	{access.ImportTokens, access.Vault, false, false, true},

	{access.SearchSound, access.Dataset, true, true, true},
	{access.GetRun, access.Dataset, true, true, true},
	{access.GetResults, access.Dataset, true, true, true},
	{access.CancelRun, access.Dataset, false, true, true},

	{access.CreateClient, access.Client, false, false, true},
	{access.ListClients, access.Client, false, false, true},
	{access.GetClient, access.Client, false, false, true},
	{access.UpdateClient, access.Client, false, false, true},
	{access.RotateSecret, access.Client, false, false, true},
	{access.ListSecrets, access.Client, false, false, true},
	{access.RevokeSecret, access.Client, false, false, true},
	{access.DeleteClient, access.Client, false, false, true},

	{access.CreateInvitation, access.Invitation, false, false, true},
	{access.ListInvitations, access.Invitation, false, false, true},
	{access.GetInvitation, access.Invitation, false, false, true},
	{access.ResendInvitation, access.Invitation, false, false, true},
	{access.DeleteInvitation, access.Invitation, false, false, true},

	{"doSomethingOfTheHosts", "shop", false, false, true},
}

// bindings are what a role can be bound to, and resources what can be asked for; each
// against each.
var (
	bindings = []access.Role{
		{}, {Resource: "dataset"}, {Resource: "dataset", ResourceInstance: "d1"}, {Resource: "dataset", ResourceInstance: "d2"},
		{Resource: "vault"}, {Resource: "client"}, {Resource: "client", ResourceInstance: "d1"}, {Resource: "shop"},
	}
	instances = []string{"", "d1", "d2"}
)

func TestAllowsMatrix(t *testing.T) {
	catalogue := access.DefaultCatalogue()
	for _, row := range matrix {
		for id, may := range map[string]bool{"viewer": row.viewer, "editor": row.editor, "admin": row.admin, "unknown": false} {
			// Without a resource it applies to nothing.
			for _, role := range append(bindings, access.Role{ResourceInstance: "d1"}) {
				role.ID = id
				allowed := catalogue.Access(role)
				for _, resource := range []access.ResourceType{"", row.resource, "dataset", "vault", "client", "shop", "other"} {
					for _, instance := range instances {
						asked := access.Resource{Type: resource, ID: instance}
						reaches := role.Resource == "" && role.ResourceInstance == "" || role.Resource != "" &&
							role.Resource == resource && (role.ResourceInstance == "" || role.ResourceInstance == instance)
						require.Equal(t, may && reaches, allowed.Allows(row.action, asked), "%+v: %s on %+v", role, row.action, asked)
					}
				}
			}
		}
	}
}

func TestZeroAccessAllowsNothing(t *testing.T) {
	var none access.Access
	noRoles := access.DefaultCatalogue().Access()
	require.False(t, none.Full())
	require.False(t, noRoles.Full())
	for _, row := range matrix {
		for _, resource := range []access.Resource{{}, {Type: row.resource}, {Type: row.resource, ID: "x"}} {
			require.False(t, none.Allows(row.action, resource), row.action)
			require.False(t, noRoles.Allows(row.action, resource), row.action)
			require.True(t, access.Full().Allows(row.action, resource), row.action)
		}
	}
	require.False(t, none.Covers(nil))
	require.False(t, none.Covers([]access.Role{{ID: "viewer"}}))
	require.False(t, noRoles.Covers([]access.Role{{ID: "viewer"}}))
}

// An API key is for triggers alone, one at a time, and gives nothing away.
func TestAPIKeyAllows(t *testing.T) {
	key := access.APIKey()
	for _, row := range matrix {
		want := row.resource == access.Trigger && row.action != access.ChangeTriggers
		for _, id := range instances {
			require.Equal(t, want, key.Allows(row.action, access.Resource{Type: row.resource, ID: id}), row.action)
		}
		require.False(t, key.Allows(row.action, access.Resource{}), row.action)
		require.False(t, key.Allows(row.action, access.Resource{Type: access.Vault}), row.action)
	}
	require.False(t, key.Full())
	require.Empty(t, key.Roles())
	for _, roles := range [][]access.Role{nil, {{ID: "viewer"}}, {{ID: "unknown"}}} {
		require.False(t, key.Covers(roles) || key.MayEnd(roles) || key.MayTakeOver(roles), roles)
	}
}

// Covers must say yes exactly if nothing that the roles allow is not allowed to the
// caller.
func TestCoversIsWhatAllowsSays(t *testing.T) {
	catalogue, err := access.NewCatalogue(map[string][]access.Action{
		"reader": {"read"}, "writer": {"read", "write"}, "auditor": {"audit"}, "root": {access.AnyAction},
	})
	require.NoError(t, err)
	var all []access.Role
	for _, id := range catalogue.Roles() {
		for _, r := range bindings {
			r.ID = id
			all = append(all, r)
		}
	}
	allowedEverywhere := func(holder, given access.Access) bool {
		for _, action := range []access.Action{"read", "write", "audit", "something else"} {
			for _, resource := range []access.ResourceType{"", "dataset", "vault", "client", "shop", "other"} {
				for _, instance := range instances {
					asked := access.Resource{Type: resource, ID: instance}
					if given.Allows(action, asked) && !holder.Allows(action, asked) {
						return false
					}
				}
			}
		}
		return true
	}
	for _, mine := range all {
		for _, second := range all {
			holder := catalogue.Access(mine, second)
			for _, given := range all {
				require.Equal(t, allowedEverywhere(holder, catalogue.Access(given)), holder.Covers([]access.Role{given}),
					"%+v and %+v cover %+v", mine, second, given)
			}
		}
	}
	root := catalogue.Access(access.Role{ID: "root"})
	assert.False(t, root.Covers(nil), "full access is more than any role")
	assert.False(t, root.Covers([]access.Role{{ID: "unknown"}}))
	assert.True(t, access.Full().Covers(nil))
	assert.False(t, root.Covers([]access.Role{{ID: "reader"}, {ID: "unknown"}}), "each of them must be covered")
	assert.True(t, root.MayEnd([]access.Role{{ID: "unknown"}}), "it allows nothing")
	assert.True(t, root.MayEnd([]access.Role{{ID: "reader"}, {ID: "unknown"}}))
	assert.False(t, root.MayEnd(nil))
	assert.False(t, catalogue.Access(access.Role{ID: "reader"}).MayEnd([]access.Role{{ID: "unknown"}, {ID: "root"}}))
	assert.False(t, access.Access{}.MayEnd([]access.Role{{ID: "unknown"}}))
	assert.False(t, catalogue.Access().MayEnd([]access.Role{{ID: "unknown"}}), "who holds nothing")
	assert.True(t, root.MayTakeOver([]access.Role{{ID: "reader"}, {ID: "unknown"}}), "it allows no more")
	assert.False(t, root.MayTakeOver(nil))
	assert.False(t, catalogue.Access(access.Role{ID: "writer"}).MayTakeOver([]access.Role{{ID: "unknown"}}), "it may allow anything")
	assert.False(t, access.Access{}.MayTakeOver([]access.Role{{ID: "unknown"}}))
}

func TestCatalogue(t *testing.T) {
	assert.Equal(t, []string{"admin", "editor", "viewer"}, access.DefaultCatalogue().Roles())
	for _, roles := range []map[string][]access.Action{nil, {}, {"": nil}, {"a\x00": nil}, {strings.Repeat("a", 256): nil}} {
		_, err := access.NewCatalogue(roles)
		assert.Error(t, err, "%v", roles)
	}
	actions := []access.Action{"read"}
	c, err := access.NewCatalogue(map[string][]access.Action{"r": actions})
	require.NoError(t, err)
	actions[0] = "write"
	assert.True(t, c.Access(access.Role{ID: "r"}).Allows("read", access.Resource{}), "the catalogue is a copy")

	given := []access.Role{{ID: "r"}}
	allowed := c.Access(given...)
	given[0].ID = "nothing"
	allowed.Roles()[0].ID = "nothing"
	assert.True(t, allowed.Allows("read", access.Resource{}), "so is an access")

	for _, test := range []struct {
		role  access.Role
		field string
	}{
		{access.Role{ID: "r"}, ""},
		{access.Role{ID: "r", Resource: "dataset"}, ""},
		{access.Role{ID: "r", Resource: "dataset", ResourceInstance: "d1"}, ""},
		{access.Role{}, "role_id"},
		{access.Role{ID: "R"}, "role_id"},
		{access.Role{ID: "r", ResourceInstance: "d1"}, "resource_instance"},
		{access.Role{ID: "r", Resource: "a\x00"}, "resource"},
		{access.Role{ID: "r", Resource: "dataset", ResourceInstance: strings.Repeat("d", 256)}, "resource_instance"},
	} {
		field, problem := c.Check(test.role)
		assert.Equal(t, test.field, field, "%+v", test.role)
		assert.Equal(t, test.field == "", problem == "", "%+v", test.role)
	}
}

// A misspelt action is refused by name. All of the library, and other names of a host, are not.
func TestCatalogueRefusesMisspeltActions(t *testing.T) {
	for _, row := range matrix {
		_, err := access.NewCatalogue(map[string][]access.Action{"r": {row.action, access.AnyAction}})
		require.NoError(t, err, row.action)
	}
	for wrong, message := range map[access.Action]string{
		"listTrigger":      `the action "listTrigger" of the role "r" does not exist: did you mean "listTriggers"?`,
		"Tokenize":         `the action "Tokenize" of the role "r" does not exist: did you mean "tokenize"?`,
		"tokenise":         `did you mean "tokenize"?`,
		"detokenise_plain": `did you mean "detokenizePlain"?`,
		"revokeTokens":     `did you mean "revokeToken"?`,
		"":                 `the action "" of the role "r" must not be empty`,
		"a\x00":            `of the role "r" must`,
	} {
		_, err := access.NewCatalogue(map[string][]access.Action{"r": {access.GetTrigger, wrong}})
		require.ErrorContains(t, err, message)
	}
}

func TestRolesContext(t *testing.T) {
	for _, text := range []string{"system", "dataset:d1", "dataset:a:b", "dataset: "} {
		var c access.RolesContext
		require.NoError(t, c.UnmarshalText([]byte(text)), text)
		assert.EqualValues(t, text, c)
	}
	for _, text := range []string{"", "System", "system ", "dataset", "dataset:", "datasets:d1", "vault:v1", "dataset:\x00", "dataset:\xff", "dataset:" + strings.Repeat("d", 256)} {
		c := access.SystemRoles
		assert.Error(t, c.UnmarshalText([]byte(text)), "%q", text)
		assert.Equal(t, access.SystemRoles, c)
	}

	viewer := func(resource access.ResourceType, instance string) access.Role {
		return access.Role{ID: "viewer", Resource: resource, ResourceInstance: instance}
	}
	d1 := access.DatasetRoles("d1")
	for _, test := range []struct {
		context   access.RolesContext
		role      access.Role
		bound     access.Role
		wrongWith string
	}{
		{"", viewer("vault", "v1"), viewer("vault", "v1"), ""},
		{access.SystemRoles, viewer("", ""), viewer("", ""), ""},
		{access.SystemRoles, viewer("dataset", ""), access.Role{}, "resource"},
		{access.SystemRoles, viewer("dataset", "d1"), access.Role{}, "resource"},
		{d1, viewer("", ""), viewer("dataset", "d1"), ""},
		{d1, viewer("dataset", ""), viewer("dataset", "d1"), ""},
		{d1, viewer("dataset", "d1"), viewer("dataset", "d1"), ""},
		{d1, viewer("dataset", "d2"), access.Role{}, "resource_instance"},
		{d1, viewer("vault", "d1"), access.Role{}, "resource"},
	} {
		field, problem := test.context.Check(test.role)
		assert.Equal(t, test.wrongWith, field)
		assert.Equal(t, test.wrongWith == "", problem == "")
		if problem == "" {
			assert.Equal(t, test.bound, test.context.Bind(test.role))
			assert.True(t, test.context.Has(test.bound))
		}
	}
}

func TestRolesContextHas(t *testing.T) {
	roles := []access.Role{
		{ID: "viewer"}, {ID: "viewer", Resource: "dataset"}, {ID: "viewer", Resource: "dataset", ResourceInstance: "d1"},
		{ID: "viewer", Resource: "dataset", ResourceInstance: "d2"}, {ID: "viewer", Resource: "vault", ResourceInstance: "d1"},
	}
	for context, want := range map[access.RolesContext][]bool{
		"":                        {true, true, true, true, true},
		access.SystemRoles:        {true, false, false, false, false},
		access.DatasetRoles("d1"): {false, false, true, false, false},
	} {
		for i, r := range roles {
			assert.Equal(t, want[i], context.Has(r), "%q has %+v", context, r)
		}
	}
}
