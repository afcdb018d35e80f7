package main

import (
	"errors"
	"slices"
	"testing"
)

func TestSplitCommand(t *testing.T) {
	for command, want := range map[string][]string{
		`a b`:                   {"a", "b"},
		"  a\t b  ":             {"a", "b"},
		`a 'b  c' "d  e" f\ g`:  {"a", "b  c", "d  e", "f g"},
		`a "x\"y\$z\q\\" 'x\"'`: {"a", `x"y$z\q\`, `x\"`},
		`a "it's" ''"" b`:       {"a", "it's", "", "b"},
		`a x'y'"z"`:             {"a", "xyz"},
		`a \| \$X '$X' 'a;b'`:   {"a", "|", "$X", "$X", "a;b"},
		`a *.go ~ {x,y} k=v #c`: {"a", "*.go", "~", "{x,y}", "k=v"},
		"a é \"ü\"":             {"a", "é", "ü"},
		`sh -c 'cat | wc'`:      {"sh", "-c", "cat | wc"},
		"a \\\n b":              {"a", "b"},
	} {
		got, err := splitCommand(command)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("splitCommand(%q) = %q, %v; want %q", command, got, err, want)
		}
	}
}

func TestSplitCommandRefuses(t *testing.T) {
	for _, command := range []string{
		`a | b`, `a; b`, `a;`, `a &`, `a && b`, `a > f`, `a < f`, `a 2>&1`, `a $X`, `a "$X"`, "a `b`", `a $(b)`, `a "$(b)"`, `a $((1))`,
		`X=1 a`, `X=1`, `! a`, `(a)`, `{ a; }`, "a\nb", `f() { a; }`, `while a; do b; done`,
	} {
		if words, err := splitCommand(command); !errors.Is(err, errNotWords) {
			t.Errorf("splitCommand(%q) = %q, %v; want the advice to use sh -c", command, words, err)
		}
	}
	for _, command := range []string{``, `  `, `# a`, `''`, `a 'b`, `a "b`, `if`} {
		if words, err := splitCommand(command); err == nil {
			t.Errorf("splitCommand(%q) = %q; want an error", command, words)
		}
	}
}

func TestWithoutSecrets(t *testing.T) {
	got := withoutSecrets([]string{"PATH=/bin", "MORTISE_ADDR=x", "mortise_data=y", "MORTISER=z", "X=MORTISE_"}, nil)
	if want := []string{"PATH=/bin", "MORTISER=z", "X=MORTISE_"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
