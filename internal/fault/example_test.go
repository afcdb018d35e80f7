package fault_test

import (
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise/internal/fault"
)

func Example() {
	hook := fault.On(fault.Nth(errors.New("disk full"), 2), "Store")
	for _, op := range []string{"Store.Create", "Keys.Get", "Store.Update", "Store.Get"} {
		fmt.Println(op, hook(op))
	}
	// Output:
	// Store.Create <nil>
	// Keys.Get <nil>
	// Store.Update disk full
	// Store.Get <nil>
}
