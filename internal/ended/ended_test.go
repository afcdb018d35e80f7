package ended_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/ended"
)

// work is work that has a slice to be copied.
type work []int

func (w work) Clone() work { return append(work(nil), w...) }

func jobs(n int) (all []mortise.Job) {
	for i := range n {
		all = append(all, mortise.Job{Kind: "mail", Organization: "acme", ID: fmt.Sprint(i)})
	}
	return all
}

func TestJobs(t *testing.T) {
	for name, c := range map[string]struct {
		onEnd func(work) []mortise.Job
		want  []mortise.Job
		log   string
	}{
		"no hook":  {nil, nil, ""},
		"no job":   {func(work) []mortise.Job { return nil }, nil, ""},
		"a panic":  {func(w work) []mortise.Job { panic(w) }, nil, "level=ERROR msg=\"a hook panicked\" hook=OnEnd"},
		"too many": {func(work) []mortise.Job { return jobs(101) }, jobs(100), "level=ERROR msg=\"OnEnd returned more jobs than it may\" work=7 jobs=101"},
		"not valid": {func(work) []mortise.Job {
			return append([]mortise.Job{{Kind: "mail"}, {Kind: "vault", Organization: "acme", ID: "1"}}, jobs(2)...)
		}, jobs(2), "level=ERROR msg=\"a job of OnEnd is left out\" work=7"},
		"a changed argument": {func(w work) []mortise.Job { w[0] = 9; return jobs(1) }, jobs(1), ""},
	} {
		var log bytes.Buffer
		w := work{1}
		require.Equal(t, c.want, ended.Jobs(slog.New(slog.NewTextHandler(&log, nil)), c.onEnd, w, "work", 7), name)
		require.Equal(t, work{1}, w, name)
		require.Contains(t, log.String(), c.log, name)
		if name == "not valid" {
			require.Equal(t, 2, strings.Count(log.String(), c.log), name)
		} else if c.log == "" {
			require.Empty(t, log.String(), name)
		}
	}
}
