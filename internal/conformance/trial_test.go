package conformance

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTrials: one process tries one mutant after the other, until one ends it or leaves a
// goroutine behind.
func TestTrials(t *testing.T) {
	if serveTrials(t, func(t *testing.T, mutant string) {
		fmt.Println(mutant, "in", os.Getpid())
		switch mutant {
		case "fails":
			t.Fatal("one is two")
		case "panics":
			panic("it is empty")
		case "ends":
			os.Exit(0)
		case "leaves a goroutine":
			go waitForever()
		}
	}) {
		return
	}
	others := startTrials(t, t.Name(), 1)
	process := func(mutant, says string) string {
		output := others.try(mutant)
		require.Contains(t, output, says)
		in := regexp.MustCompile(mutant+` in \d+`).FindAllString(output, -1)
		require.Len(t, in, 1, output)
		return in[0][len(mutant):]
	}
	for _, mutant := range []string{"panics", "ends", "leaves a goroutine"} {
		first := process("fails", "one is two")
		require.Equal(t, first, process("passes", ""))
		require.Equal(t, first, process("fails", "one is two"))
		require.Equal(t, first, process(mutant, map[string]string{"panics": "it is empty"}[mutant]))
		require.NotEqual(t, first, process("fails", "one is two"))
	}
}
