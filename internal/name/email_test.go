package name_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/internal/name"
)

func TestEmailProblem(t *testing.T) {
	for _, good := range []string{"ada@example.com", "a@b", "ä+x@ü.example", `o'neil@example.com`} {
		assert.Empty(t, name.EmailProblem(good), good)
	}
	for _, bad := range []string{
		"", "ada", "@example.com", "ada@", "a@b@c", "-x@example.com", "a b@example.com", "a@example.com\n",
		"a\u202e@example.com", "<a@example.com>", "a,b@example.com", "a@x?subject=y", "a@x%0a", "a@b/c", "\x00@x", "\xff@x",
		strings.Repeat("a", 250) + "@b.com",
	} {
		assert.NotEmpty(t, name.EmailProblem(bad), "%q", bad)
	}
}
