package format

import (
	"context"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Tokenizer makes the tokens of new values, and knows those that others made.
//
// Tokens and CheckTokens take many values at once, of any columns, as many as Limits
// says. They return an answer for each, in their order. The error of a value is
// [ErrMismatch] or [ErrExhausted]. Any other error of a value, an error of the call, and
// another number of answers mean that the tokenizer is unavailable: the service fails
// with mortise.ErrUnavailable. None of the errors holds a value.
//
// A Tokenizer is safe for concurrent use. It keeps nothing of its arguments and changes
// none; results are the receiver's own.
type Tokenizer interface {
	// CheckFormat returns an error that says what a column's Format may be, unless it is
	// one of these.
	CheckFormat(format string) error

	// Limits returns the most that one call of Tokens or CheckTokens takes. vault.New
	// asks for it once; it must not change.
	Limits() keyring.Limits

	// Tokens returns a random token for each value that is about to be stored: 1 to 255
	// bytes of UTF-8, without U+0000. It must not be computable from the value, for it is
	// what everybody may see. A token that is the value, in whatever case, makes the
	// tokenizer unavailable. If a token is taken already, or comes twice in a call, the
	// service asks for another one.
	//
	// If a value does not fit the format of its field, its error is an [*Error], which
	// says what would fit, or [ErrMismatch] alone. If the format has no further tokens,
	// its error is [ErrExhausted].
	Tokens(ctx context.Context, requests []Request) ([]Result, error)

	// CheckTokens says whether values, and the tokens that they have elsewhere, fit the
	// format of their field: nil for each pair that fits, else an error as of Tokens. A
	// token never fits that is its value, in whatever case, with or without space around
	// it.
	CheckTokens(ctx context.Context, pairs []Pair) ([]error, error)
}

// Field is one column of a vault, or one of the groups that its columns share.
type Field struct {
	Organization string
	Vault        string
	Table        string // "" if Group is set and no column of the group is left
	Column       string
	Group        string // "" for a column of its own
	Format       string // as the schema has it
	Mask         string // as the schema has it; see ParseMask
}

// String names the field for messages: "persons.email", or "emails" for a group alone.
func (f *Field) String() string {
	if f.Table == "" {
		return f.Group
	}
	return f.Table + "." + f.Column
}

// Request asks for a token.
type Request struct {
	Field   Field
	Value   keyring.Value
	Attempt int // from 0: how often the token before was taken
}

// Result is what became of a [Request].
type Result struct {
	Token string // if Err is nil
	Err   error
}

// Pair is a value and the token that it has elsewhere.
type Pair struct {
	Field Field
	Value keyring.Value
	Token string
}

// Check returns an [*Error] if the token cannot be a value's, or not this one's,
// whatever the field is.
func (p *Pair) Check() error {
	if problem := name.Problem(p.Token); problem != "" {
		return formatError("its token %s", problem)
	}
	if p.ShowsValue() {
		return formatError("its token must be another text than the value")
	}
	return nil
}

// ShowsValue reports whether the token is the value itself, in whatever case, and without
// the space around it: whoever sees such a token sees the value.
func (p *Pair) ShowsValue() bool {
	value := p.Value.Reveal()
	return p.Token == value || strings.EqualFold(strings.TrimSpace(p.Token), strings.TrimSpace(value))
}
