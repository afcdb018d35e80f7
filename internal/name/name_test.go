package name_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/internal/name"
)

func TestProblem(t *testing.T) {
	for _, good := range []string{"a", " ", "\n", "dataset:1/ä", strings.Repeat("é", 127), strings.Repeat("n", 255)} {
		assert.Empty(t, name.Problem(good), "%q", good)
	}
	for bad, want := range map[string]string{
		"": "must not be empty", strings.Repeat("n", 256): "must be at most 255 bytes", strings.Repeat("é", 128): "must be at most 255 bytes",
		"a\xff": "must be valid UTF-8", "a\x00b": "must not contain U+0000",
	} {
		assert.Equal(t, want, name.Problem(bad), "%q", bad)
	}
}

func Example() {
	fmt.Println(name.Problem("acme") == "", name.Problem(""))
	// Output: true must not be empty
}
