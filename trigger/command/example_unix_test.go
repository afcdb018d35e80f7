//go:build unix

package command_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/command"
)

// A shell reads the instructions and says what it has done. The Processor goes to
// trigger.NewWorker.
func ExampleNew() {
	instructions := func(e trigger.Event) ([]byte, error) { return []byte(e.Instructions), nil }
	script := `read -r line; test "$line" || { echo "nothing to do" >&2; exit 1; }; echo "done: $line"`
	process, err := command.New([]string{"/bin/sh", "-c", script}, instructions, &command.Options{
		Env: []string{"PATH=/usr/bin:/bin"}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"describe the sign-in page", ""} {
		outcome, err := process(context.Background(), trigger.Event{Instructions: text})
		fmt.Println(outcome.Summary, err)
	}
	// Output:
	// done: describe the sign-in page <nil>
	//  the command failed: exit status 1: nothing to do
}
