package fake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/fake"
)

func ExampleParts() {
	var parts fake.Parts[string]
	first, second := parts.Break("Store"), parts.Break("Store")
	first()
	first() // heals nothing more
	fmt.Println(parts.Broken("Store"), parts.Broken("Queue"))
	second()
	fmt.Println(parts.Broken("Store"))
	// Output:
	// true false
	// false
}

func ExampleTrail() {
	var heard fake.Record[string] // what is observed is the organization
	observe := heard.Observer(func(_ context.Context, org string) { fmt.Println("passed on:", org) })
	for _, org := range []string{"b", "a", "away", "b"} {
		observe(context.Background(), org)
	}
	fmt.Println(heard.All())
	fmt.Println(fake.Trail(&heard, func(o string) string { return o }, func(org string) ([]string, error) {
		if org == "away" {
			return []string{"half"}, errors.New("it is away")
		}
		return []string{org + "2", org + "1"}, nil
	}, strings.Compare))
	// Output:
	// passed on: b
	// passed on: a
	// passed on: away
	// passed on: b
	// [b a away b]
	// [a1 a2 b1 b2]
}
