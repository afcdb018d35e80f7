package vault_test

import (
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// The path of a problem leads to the place in the schema: as text, or step by step.
func ExampleValidationError() {
	schema := vault.Schema{Tables: []vault.Table{{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Format: "email"},
		{Name: "email", Tokenization: vault.Deterministic},
	}}}}
	err := schema.Validate(nil)
	if invalid, ok := errors.AsType[*mortise.ValidationError](err); ok {
		for _, p := range invalid.Problems {
			fmt.Println(p.Path, "-", p.Message)
			fmt.Println(len(p.Path), "steps, column", p.Path[3].Index)
		}
	}
	// Output:
	// tables[0].columns[1].name - is the name of another column of the table, too
	// 5 steps, column 1
}
