package authmgmt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// matrix is the design's: who may do what. Every action of the library stands in it once.
var matrix = []struct {
	action                authmgmt.Action
	resource              authmgmt.ResourceType
	viewer, editor, admin bool
}{
	{authmgmt.ActionSubmitTrigger, authmgmt.ResourceTrigger, false, true, true},
	{authmgmt.ActionGetTrigger, authmgmt.ResourceTrigger, true, true, true},
	{authmgmt.ActionListTriggers, authmgmt.ResourceTrigger, true, true, true},

	{authmgmt.ActionTokenize, authmgmt.ResourceVault, true, true, true},
	{authmgmt.ActionInsertRecords, authmgmt.ResourceVault, false, true, true},
	{authmgmt.ActionDetokenize, authmgmt.ResourceVault, false, true, true},
	{authmgmt.ActionReveal, authmgmt.ResourceVault, false, false, true},
	{authmgmt.ActionDeleteToken, authmgmt.ResourceVault, false, false, true},
	{authmgmt.ActionImportTokens, authmgmt.ResourceVault, false, false, true},

	{authmgmt.ActionSearchSound, authmgmt.ResourceDataset, true, true, true},
	{authmgmt.ActionGetRun, authmgmt.ResourceDataset, true, true, true},
	{authmgmt.ActionGetResults, authmgmt.ResourceDataset, true, true, true},
	{authmgmt.ActionCancelRun, authmgmt.ResourceDataset, false, true, true},

	{authmgmt.ActionCreateClient, authmgmt.ResourceClient, false, false, true},
	{authmgmt.ActionListClients, authmgmt.ResourceClient, false, false, true},
	{authmgmt.ActionGetClient, authmgmt.ResourceClient, false, false, true},
	{authmgmt.ActionUpdateClient, authmgmt.ResourceClient, false, false, true},
	{authmgmt.ActionRotateSecret, authmgmt.ResourceClient, false, false, true},
	{authmgmt.ActionDeleteClient, authmgmt.ResourceClient, false, false, true},

	{authmgmt.ActionCreateInvitation, authmgmt.ResourceInvitation, false, false, true},
	{authmgmt.ActionListInvitations, authmgmt.ResourceInvitation, false, false, true},
	{authmgmt.ActionGetInvitation, authmgmt.ResourceInvitation, false, false, true},
	{authmgmt.ActionResendInvitation, authmgmt.ResourceInvitation, false, false, true},
	{authmgmt.ActionDeleteInvitation, authmgmt.ResourceInvitation, false, false, true},

	{"doSomethingOfTheHosts", "shop", false, false, true},
}

// bindings are what a role can be bound to, and resources what can be asked for; each against each.
var (
	bindings = []authmgmt.Role{
		{}, {Resource: "dataset"}, {Resource: "dataset", ResourceInstance: "d1"}, {Resource: "dataset", ResourceInstance: "d2"},
		{Resource: "vault"}, {Resource: "client"}, {Resource: "client", ResourceInstance: "d1"}, {Resource: "shop"},
	}
	instances = []string{"", "d1", "d2"}
)

func TestAllowsMatrix(t *testing.T) {
	catalogue := authmgmt.DefaultCatalogue()
	for _, row := range matrix {
		for id, may := range map[string]bool{"viewer": row.viewer, "editor": row.editor, "admin": row.admin, "unknown": false} {
			for _, role := range append(bindings, authmgmt.Role{ResourceInstance: "d1"}) { // without a resource it applies to nothing
				role.ID = id
				access := catalogue.Access(role)
				for _, resource := range []authmgmt.ResourceType{"", row.resource, "dataset", "vault", "client", "shop", "other"} {
					for _, instance := range instances {
						asked := authmgmt.Resource{Type: resource, ID: instance}
						reaches := role.Resource == "" && role.ResourceInstance == "" || role.Resource != "" &&
							role.Resource == resource && (role.ResourceInstance == "" || role.ResourceInstance == instance)
						require.Equal(t, may && reaches, access.Allows(row.action, asked), "%+v: %s on %+v", role, row.action, asked)
					}
				}
			}
		}
	}
}

func TestZeroAccessAllowsNothing(t *testing.T) {
	var none authmgmt.Access
	noRoles := authmgmt.DefaultCatalogue().Access()
	require.False(t, none.Full())
	require.False(t, noRoles.Full())
	for _, row := range matrix {
		for _, resource := range []authmgmt.Resource{{}, {Type: row.resource}, {Type: row.resource, ID: "x"}} {
			require.False(t, none.Allows(row.action, resource), row.action)
			require.False(t, noRoles.Allows(row.action, resource), row.action)
			require.True(t, authmgmt.FullAccess().Allows(row.action, resource), row.action)
		}
	}
	require.False(t, none.Covers(nil))
	require.False(t, none.Covers([]authmgmt.Role{{ID: "viewer"}}))
	require.False(t, noRoles.Covers([]authmgmt.Role{{ID: "viewer"}}))
}

// Covers must say yes exactly if nothing that the roles allow is not allowed to the caller.
func TestCoversIsWhatAllowsSays(t *testing.T) {
	catalogue, err := authmgmt.NewCatalogue(map[string][]authmgmt.Action{
		"reader": {"read"}, "writer": {"read", "write"}, "auditor": {"audit"}, "root": {authmgmt.AnyAction},
	})
	require.NoError(t, err)
	var all []authmgmt.Role
	for _, id := range catalogue.Roles() {
		for _, r := range bindings {
			r.ID = id
			all = append(all, r)
		}
	}
	allowedEverywhere := func(holder, given authmgmt.Access) bool {
		for _, action := range []authmgmt.Action{"read", "write", "audit", "something else"} {
			for _, resource := range []authmgmt.ResourceType{"", "dataset", "vault", "client", "shop", "other"} {
				for _, instance := range instances {
					asked := authmgmt.Resource{Type: resource, ID: instance}
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
				require.Equal(t, allowedEverywhere(holder, catalogue.Access(given)), holder.Covers([]authmgmt.Role{given}),
					"%+v and %+v cover %+v", mine, second, given)
			}
		}
	}
	root := catalogue.Access(authmgmt.Role{ID: "root"})
	assert.False(t, root.Covers(nil), "full access is more than any role")
	assert.False(t, root.Covers([]authmgmt.Role{{ID: "unknown"}}))
	assert.True(t, authmgmt.FullAccess().Covers(nil))
	assert.False(t, root.Covers([]authmgmt.Role{{ID: "reader"}, {ID: "unknown"}}), "each of them must be covered")
}

func TestCatalogue(t *testing.T) {
	assert.Equal(t, []string{"admin", "editor", "viewer"}, authmgmt.DefaultCatalogue().Roles())
	for _, roles := range []map[string][]authmgmt.Action{nil, {}, {"": nil}, {"a\x00": nil}, {strings.Repeat("a", 256): nil}} {
		_, err := authmgmt.NewCatalogue(roles)
		assert.Error(t, err, "%v", roles)
	}
	actions := []authmgmt.Action{"read"}
	c, err := authmgmt.NewCatalogue(map[string][]authmgmt.Action{"r": actions})
	require.NoError(t, err)
	actions[0] = "write"
	assert.True(t, c.Access(authmgmt.Role{ID: "r"}).Allows("read", authmgmt.Resource{}), "the catalogue is a copy")

	given := []authmgmt.Role{{ID: "r"}}
	access := c.Access(given...)
	given[0].ID = "nothing"
	access.Roles()[0].ID = "nothing"
	assert.True(t, access.Allows("read", authmgmt.Resource{}), "so is an access")

	for _, test := range []struct {
		role  authmgmt.Role
		field string
	}{
		{authmgmt.Role{ID: "r"}, ""},
		{authmgmt.Role{ID: "r", Resource: "dataset"}, ""},
		{authmgmt.Role{ID: "r", Resource: "dataset", ResourceInstance: "d1"}, ""},
		{authmgmt.Role{}, "role_id"},
		{authmgmt.Role{ID: "R"}, "role_id"},
		{authmgmt.Role{ID: "r", ResourceInstance: "d1"}, "resource_instance"},
		{authmgmt.Role{ID: "r", Resource: "a\x00"}, "resource"},
		{authmgmt.Role{ID: "r", Resource: "dataset", ResourceInstance: strings.Repeat("d", 256)}, "resource_instance"},
	} {
		field, problem := c.Check(test.role)
		assert.Equal(t, test.field, field, "%+v", test.role)
		assert.Equal(t, test.field == "", problem == "", "%+v", test.role)
	}
}

func TestRolesContext(t *testing.T) {
	for _, text := range []string{"system", "dataset:d1", "dataset:a:b", "dataset: "} {
		var c authmgmt.RolesContext
		require.NoError(t, c.UnmarshalText([]byte(text)), text)
		assert.EqualValues(t, text, c)
	}
	for _, text := range []string{"", "System", "system ", "dataset", "dataset:", "datasets:d1", "vault:v1", "dataset:\x00", "dataset:\xff", "dataset:" + strings.Repeat("d", 256)} {
		c := authmgmt.SystemRoles
		assert.Error(t, c.UnmarshalText([]byte(text)), "%q", text)
		assert.Equal(t, authmgmt.SystemRoles, c)
	}

	viewer := func(resource authmgmt.ResourceType, instance string) authmgmt.Role {
		return authmgmt.Role{ID: "viewer", Resource: resource, ResourceInstance: instance}
	}
	d1 := authmgmt.DatasetRoles("d1")
	for _, test := range []struct {
		context   authmgmt.RolesContext
		role      authmgmt.Role
		bound     authmgmt.Role
		wrongWith string
	}{
		{"", viewer("vault", "v1"), viewer("vault", "v1"), ""},
		{authmgmt.SystemRoles, viewer("", ""), viewer("", ""), ""},
		{authmgmt.SystemRoles, viewer("dataset", ""), authmgmt.Role{}, "resource"},
		{authmgmt.SystemRoles, viewer("dataset", "d1"), authmgmt.Role{}, "resource"},
		{d1, viewer("", ""), viewer("dataset", "d1"), ""},
		{d1, viewer("dataset", ""), viewer("dataset", "d1"), ""},
		{d1, viewer("dataset", "d1"), viewer("dataset", "d1"), ""},
		{d1, viewer("dataset", "d2"), authmgmt.Role{}, "resource_instance"},
		{d1, viewer("vault", "d1"), authmgmt.Role{}, "resource"},
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

func ExampleAccess() {
	catalogue := authmgmt.DefaultCatalogue()
	viewer := catalogue.Access(authmgmt.Role{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"})
	for _, id := range []string{"d1", "d2"} {
		fmt.Println(id, viewer.Allows(authmgmt.ActionSearchSound, authmgmt.Resource{Type: authmgmt.ResourceDataset, ID: id}))
	}
	var stranger authmgmt.Access
	fmt.Println(stranger.Allows(authmgmt.ActionSearchSound, authmgmt.Resource{}))
	// Output:
	// d1 true
	// d2 false
	// false
}

// A viewer like the default one, who cannot tokenize.
func ExampleNewCatalogue_viewerWithoutTokenize() {
	catalogue, err := authmgmt.NewCatalogue(map[string][]authmgmt.Action{
		"viewer": {
			authmgmt.ActionListTriggers, authmgmt.ActionGetTrigger,
			authmgmt.ActionSearchSound, authmgmt.ActionGetRun, authmgmt.ActionGetResults,
		},
		"admin": {authmgmt.AnyAction},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	viewer := catalogue.Access(authmgmt.Role{ID: "viewer"})
	fmt.Println(viewer.Allows(authmgmt.ActionTokenize, authmgmt.Resource{Type: authmgmt.ResourceVault, ID: "customers"}))
	fmt.Println(viewer.Allows(authmgmt.ActionListTriggers, authmgmt.Resource{Type: authmgmt.ResourceTrigger}))
	// Output:
	// false
	// true
}

func ExampleNewCatalogue() {
	catalogue, err := authmgmt.NewCatalogue(map[string][]authmgmt.Action{
		"owner":   {authmgmt.AnyAction},
		"analyst": {authmgmt.ActionSearchSound, authmgmt.ActionGetResults, "exportReport"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	analyst := catalogue.Access(authmgmt.Role{ID: "analyst"})
	fmt.Println(analyst.Allows("exportReport", authmgmt.Resource{}), analyst.Allows(authmgmt.ActionTokenize, authmgmt.Resource{}))
	fmt.Println(slices.Contains(catalogue.Roles(), "viewer"))
	// Output:
	// true false
	// false
}
