package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/seed-6363c74e/mortise/storage/provision"
)

// errNotWords is what a command is answered that needs a shell.
var errNotWords = errors.New("runs without a shell, so it takes words and quotes only; for pipes, redirections, variables or several commands run it through sh -c '...'")

// splitCommand splits a command into words as a POSIX shell would, and expands nothing:
// *, ? and ~ stay as they are.
func splitCommand(command string) ([]string, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
	if parse := (syntax.ParseError{}); errors.As(err, &parse) {
		return nil, fmt.Errorf("cannot be split into words: %s", parse.Text)
	} else if err != nil {
		return nil, fmt.Errorf("cannot be split into words: %w", err)
	}
	if len(file.Stmts) == 0 {
		return nil, errors.New("names no program")
	}
	first := file.Stmts[0]
	call, ok := first.Cmd.(*syntax.CallExpr)
	if !ok || len(file.Stmts) > 1 || first.Negated || first.Background || first.Semicolon.IsValid() ||
		len(first.Redirs) > 0 || len(call.Assigns) > 0 {
		return nil, errNotWords
	}
	words := make([]string, 0, len(call.Args))
	for _, arg := range call.Args {
		word, err := literal(arg)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	if words[0] == "" {
		return nil, errors.New("names no program")
	}
	return words, nil
}

// literal returns a word without its quotes.
func literal(word *syntax.Word) (string, error) {
	var b strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(quoted.ReplaceAllString(part.Value, "$1"))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", errNotWords
				}
				b.WriteString(quotedWithin.ReplaceAllString(lit.Value, "$1"))
			}
		default:
			return "", errNotWords
		}
	}
	return b.String(), nil
}

// The characters that a backslash quotes: any, and those within double quotes
// (POSIX.1-2024, 2.2.1 and 2.2.3).
var (
	quoted       = regexp.MustCompile(`(?s)\\(.)`)
	quotedWithin = regexp.MustCompile("\\\\([$`\"\\\\])")
)

// withoutSecrets returns the environment of the command: without this program's own
// variables, which hold addresses and paths of secrets, and those that the document, if
// there is one, has secrets from.
func withoutSecrets(env []string, doc *provision.Document) []string {
	secret := cmp.Or(doc, new(provision.Document)).Variables()
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(strings.ToUpper(name), "MORTISE_") || slices.Contains(secret, name)
	})
}
