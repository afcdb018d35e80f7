package queuetest_test

import (
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

// What the suite says of Extend.
func ExampleRules() {
	for _, r := range queuetest.Rules() {
		if strings.HasPrefix(r.ID, "leases/extend") {
			fmt.Println(r.ID + ":")
			fmt.Println(r.Text)
		}
	}
	// Output:
	// leases/extend:
	// Extend moves the end of a lease, later or earlier, again and again.
}
