package access_test

import (
	"fmt"
	"slices"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
)

// A handler of the host's own asks what its caller may do.
func Example() {
	catalogue := access.DefaultCatalogue()
	caller := catalogue.Access(access.Role{ID: "editor", Resource: access.Vault, ResourceInstance: "customers"})
	for _, action := range []access.Action{access.Tokenize, access.Detokenize, access.Reveal} {
		fmt.Println(action, caller.Allows(action, access.Resource{Type: access.Vault, ID: "customers"}))
	}
	fmt.Println(caller.Allows(access.Tokenize, access.Resource{Type: access.Vault, ID: "staff"}))
	// Output:
	// tokenize true
	// detokenize true
	// detokenizePlain false
	// false
}

func ExampleAccess() {
	catalogue := access.DefaultCatalogue()
	viewer := catalogue.Access(access.Role{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"})
	for _, id := range []string{"d1", "d2"} {
		fmt.Println(id, viewer.Allows(access.SearchSound, access.Resource{Type: access.Dataset, ID: id}))
	}
	var stranger access.Access
	fmt.Println(stranger.Allows(access.SearchSound, access.Resource{}))
	// Output:
	// d1 true
	// d2 false
	// false
}

// A viewer like the default one, who cannot tokenize.
func ExampleNewCatalogue_viewerWithoutTokenize() {
	catalogue, err := access.NewCatalogue(map[string][]access.Action{
		"viewer": {
			access.ListTriggers, access.GetTrigger,
			access.SearchSound, access.GetRun, access.GetResults,
		},
		"admin": {access.AnyAction},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	viewer := catalogue.Access(access.Role{ID: "viewer"})
	fmt.Println(viewer.Allows(access.Tokenize, access.Resource{Type: access.Vault, ID: "customers"}))
	fmt.Println(viewer.Allows(access.ListTriggers, access.Resource{Type: access.Trigger}))
	// Output:
	// false
	// true
}

func ExampleNewCatalogue() {
	catalogue, err := access.NewCatalogue(map[string][]access.Action{
		"owner":   {access.AnyAction},
		"analyst": {access.SearchSound, access.GetResults, "exportReport"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	analyst := catalogue.Access(access.Role{ID: "analyst"})
	fmt.Println(analyst.Allows("exportReport", access.Resource{}), analyst.Allows(access.Tokenize, access.Resource{}))
	fmt.Println(slices.Contains(catalogue.Roles(), "viewer"))
	// Output:
	// true false
	// false
}
