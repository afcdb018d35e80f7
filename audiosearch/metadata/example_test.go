package metadata_test

import (
	"encoding/json"
	"fmt"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// Metadata can be written in Go, or read from JSON.
func Example() {
	camera := metadata.Map{
		"site":   metadata.String("north"),
		"year":   metadata.Int(2024),
		"indoor": metadata.Bool(false),
	}
	sheet, err := metadata.Parse([]byte(`{"site":"south","year":2025,"gain":1.50,"note":null}`))
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(sheet)
	if err != nil {
		panic(err)
	}
	fmt.Println(camera["site"].Text(), camera["year"].Text())
	fmt.Println(string(text))
	// Output:
	// north 2024
	// {"gain":1.50,"note":null,"site":"south","year":2025}
}

// A query has filters, and finds nothing but in videos that pass all of them. Here they are
// asked themselves.
func ExampleFilter() {
	passes, err := metadata.Filter{Key: "year", Op: metadata.OpGreaterOrEqual, Value: "2025"}.Predicate()
	if err != nil {
		panic(err)
	}
	fmt.Println(passes(metadata.Int(2024)), passes(metadata.Int(2025)), passes(metadata.String("2025.5")))

	err = metadata.Filter{Key: "year", Op: metadata.OpLess, Value: "last year"}.Check()
	fmt.Println(err)
	// Output:
	// false true true
	// audiosearch: the value of the filter must be a number: the operator is <
}
