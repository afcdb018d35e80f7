package httpadapter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// vocabulary are the values of audio_class.
type vocabulary struct {
	classes []sound.Class
	known   map[sound.Class]bool // the same
	enum    string               // the message about another value
	many    bool                 // too many to name all in an answer
}

func newVocabulary(classes []sound.Class) (*vocabulary, error) {
	if len(classes) > sound.MaxClasses {
		return nil, fmt.Errorf("httpadapter: AudioSearchOptions has %d Classes; they must be at most %d", len(classes), sound.MaxClasses)
	}
	v := &vocabulary{classes: slices.Clone(classes), known: make(map[sound.Class]bool)}
	for _, c := range v.classes {
		if !c.Valid() || v.known[c] {
			return nil, fmt.Errorf("httpadapter: AudioSearchOptions.Classes has %q, which comes twice or can be no class", c)
		}
		v.known[c] = true
	}
	// The answer to a wrong name must not have megabytes.
	const longest = 64 << 10
	if v.enum = oneOf(v.names()); len(v.enum) > longest {
		v.many = true
		v.enum = fmt.Sprintf("Input should be one of the %d sound classes of this server", len(classes))
	}
	return v, nil
}

func (v *vocabulary) names() []string {
	names := make([]string, len(v.classes))
	for i, c := range v.classes {
		names[i] = string(c)
	}
	return names
}

// refusal is the message for any other value. It lists all names, as pydantic
// does: ten kilobytes for AudioSet, once in an answer.
func (v *vocabulary) refusal(given string) string {
	if v.many && given != "" {
		if near := sound.Nearest(given, v.classes); near != "" {
			return fmt.Sprintf("%s; did you mean '%s'?", v.enum, near)
		}
	}
	return v.enum
}

// askClasses is how long the scorers are asked for their classes.
const askClasses = 2 * time.Second

// predicted returns the classes of the service's scorers if the host has named none and
// AudioSet lacks one of them, and else nil. No scorer is asked about names that AudioSet has: the
// service says which of them it cannot find.
func (a *audioSearchAdapter) predicted(ctx context.Context) (*vocabulary, error) {
	if a.named {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askClasses)
	defer cancel()
	classes, err := a.service.Classes(ctx)
	if err != nil || !slices.ContainsFunc(classes, func(c sound.Class) bool { return !a.known[c] }) {
		return nil, err
	}
	return newVocabulary(classes)
}
