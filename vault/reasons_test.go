package vault_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
)

// What is not there is ErrNotFound as well, and nothing else is.
func TestReasonsThatAreNotFound(t *testing.T) {
	for reason, missing := range map[vault.Reason]bool{
		vault.ErrTableNotFound: true, vault.ErrColumnNotFound: true, vault.ErrGroupNotFound: true,
		vault.ErrValueNotFound: true, vault.ErrTokenNotFound: true,
		vault.ErrNotDeterministic: false, vault.ErrNotTokenized: false, vault.ErrInvalid: false,
		vault.ErrTooMuch: false, vault.ErrForbidden: false, vault.ErrTokenConflict: false,
	} {
		require.Equal(t, missing, errors.Is(reason, mortise.ErrNotFound), reason)
	}
}

// A caller finds the reason of an item without asking for each.
func TestReasonOfAnItem(t *testing.T) {
	r := newRig(t, vault.Options{MaxValue: 10, MaxItems: 2})
	for name, c := range map[string]struct {
		items []vault.Item
		want  vault.Reason
		text  string
	}{
		"column":  {of("persons", "nothing", "x"), vault.ErrColumnNotFound, `item 0: vault: no such column "nothing" in table "persons"`},
		"random":  {of("persons", "diary", "x"), vault.ErrNotDeterministic, `item 0: vault: the column is not deterministic: "diary" in table "persons"`},
		"value":   {of("persons", "name", "nobody"), vault.ErrValueNotFound, "item 0: vault: the value has no token"},
		"long":    {of("persons", "name", strings.Repeat("x", 11)), vault.ErrInvalid, "item 0: vault: the value is too long: 10 bytes are the most"},
		"nothing": {nil, vault.ErrInvalid, "vault: the number of items is out of bounds: give at least one"},
		"many":    {of("persons", "name", "a", "b", "c"), vault.ErrInvalid, "vault: the number of items is out of bounds: 2 are the most"},
	} {
		_, err := r.Tokenize(t.Context(), "acme", "v1", c.items)
		require.EqualError(t, err, c.text, name)
		require.ErrorIs(t, err, c.want, name)
		var reason vault.Reason
		require.ErrorAs(t, err, &reason, name)
		require.Equal(t, c.want, reason, name)
	}
}
