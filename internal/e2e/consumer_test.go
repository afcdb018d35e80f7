package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	// What is packed is not what go test sees this package use. By these it sees, and
	// runs the tests again after a change.
	_ "github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/internal/e2e/release"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	_ "github.com/seed-6363c74e/mortise/storage/memory"
	_ "github.com/seed-6363c74e/mortise/trigger"
)

// A stranger gets Mortise as a zip file from a module proxy: without go.work, without the
// replace lines, without the nested modules. These tests pack the tree as a release would
// and use it in a program of its own, far from the workspace.

const (
	corePath   = release.Core
	serverPath = corePath + "/examples/server"
	killmePath = corePath + "/examples/killme"
)

// coreNeeds is all that a program which imports the core may get with it, and what those
// modules require in their turn.
var coreNeeds = []string{
	"github.com/google/uuid",
	"github.com/hashicorp/go-multierror",
	"github.com/stretchr/testify",
	"golang.org/x/sync",
}

// compiled is what of other people's modules may end in a program that imports the core:
// no test library.
var compiled = []string{
	"github.com/google/uuid",
	"github.com/hashicorp/errwrap",
	"github.com/hashicorp/go-multierror",
	"golang.org/x/sync",
}

// serverCompiled is what ends in an operator's binary besides: the storages, the queue, the model
// and the splitting of a command. No router of other people's is among it.
var serverCompiled = slices.Concat(compiled, []string{
	corePath + "/audiosearch/onnx",
	corePath + "/examples/server",
	corePath + "/storage/jetstream",
	corePath + "/storage/postgres",
	corePath + "/storage/sqlite",
	"github.com/beorn7/perks",
	"github.com/cespare/xxhash/v2",
	"github.com/dustin/go-humanize",
	"github.com/jackc/pgpassfile",
	"github.com/jackc/pgservicefile",
	"github.com/jackc/pgx/v5",
	"github.com/jackc/puddle/v2",
	"github.com/klauspost/compress",
	"github.com/munnerz/goautoneg",
	"github.com/nats-io/nats.go",
	"github.com/nats-io/nkeys",
	"github.com/nats-io/nuid",
	"github.com/prometheus/client_golang",
	"github.com/prometheus/client_model",
	"github.com/prometheus/common",
	"github.com/prometheus/procfs",
	"github.com/remyoudompheng/bigfft",
	"github.com/yalue/onnxruntime_go",
	"golang.org/x/crypto",
	"golang.org/x/sys",
	"golang.org/x/text",
	"github.com/realclientip/realclientip-go",
	"golang.org/x/time",
	"google.golang.org/protobuf",
	"modernc.org/libc",
	"modernc.org/mathutil",
	"modernc.org/memory",
	"modernc.org/sqlite",
	"mvdan.cc/sh/v3",
})

const typesProgram = `// Program scratch names types of trigger and httpadapter and does nothing with them.
package main

import (
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

// A host's own types, under the interfaces that it would implement.
type host struct {
	trigger.Store
	mortise.Queue
	httpadapter.Authenticator
}

func main() {
	_, err := trigger.New(trigger.Backend{}, nil)
	h := host{Authenticator: httpadapter.Bearer(nil)}
	fmt.Println(err != nil, h.Store == nil, httpadapter.ErrForbidden)
}
`

const memoryProgram = `// Program scratch sends one event through HTTP and processes it.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

func main() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	check(err)
	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	auth := httpadapter.AuthenticatorFunc(func(*http.Request) (httpadapter.Principal, error) {
		return httpadapter.Principal{Organization: "acme", Access: access.Full()}, nil
	})
	handler, err := httpadapter.NewTrigger(service, auth, nil)
	check(err)

	server := httptest.NewServer(handler)
	defer server.Close()
	reply, err := http.Post(server.URL+"/triggers", "application/json", strings.NewReader("{\"instructions\":\"Document the new flag.\"}"))
	check(err)
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusAccepted {
		log.Fatal(reply.Status)
	}

	worker, err := trigger.NewWorker(service, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{Summary: "done"}, nil
	}, nil)
	check(err)
	_, err = worker.RunOnce(ctx)
	check(err)

	page, err := service.ListEvents(ctx, "acme", trigger.EventQuery{})
	check(err)
	for _, e := range page.Items {
		fmt.Println(e.Status)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
`

func TestConsumer(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	packed := pack(t)

	t.Run("types", func(t *testing.T) {
		t.Parallel()
		c := packed.consumer(t, typesProgram, corePath)
		require.Equal(t, "true true httpadapter: forbidden\n", c.run())

		// Nothing comes with the core but its four requirements and what those require.
		needs := packed.reachable(t, coreNeeds)
		for _, path := range c.list("-m", "-f", "{{.Path}}", "all") {
			if path != "scratch" && path != corePath {
				require.Contains(t, needs, path, "the module graph of a program that imports trigger and httpadapter")
			}
		}
		c.requireCompiled(compiled, "./...")
		for _, path := range c.list("-deps", "./...") {
			require.False(t, strings.HasPrefix(path, corePath+"/storage"), "trigger and httpadapter bring the backend %s", path)
		}
	})

	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		c := packed.consumer(t, memoryProgram, corePath)
		require.Equal(t, "completed\n", c.run())
		c.requireCompiled(compiled, "./...")
	})

	// The nested modules are not built here, only resolved: their own tests build them,
	// and some need cgo.
	for _, nested := range packed.Modules[1:] {
		if nested.Path == serverPath || nested.Path == killmePath { // programs, which bring others together
			continue
		}
		t.Run(strings.TrimPrefix(nested.Path, corePath+"/"), func(t *testing.T) {
			t.Parallel()
			c := packed.consumer(t, packed.blankImports(t, &nested), nested.Path)
			for _, path := range c.list("-m", "-f", "{{.Path}}", "all") {
				ours := path == corePath || path == nested.Path
				require.False(t, strings.HasPrefix(path, corePath) && !ours, "%s brings %s", nested.Path, path)
			}
			c.list("-deps", "./...")
		})
	}

	// Nor is the server: it is what all others are for, and what brings them together.
	t.Run("examples/server", func(t *testing.T) {
		t.Parallel()
		c := packed.consumer(t, "package main\n\nfunc main() {}\n", serverPath, "tool "+serverPath)
		c.requireCompiled(serverCompiled, serverPath)
	})
}

// packed is a release of the working tree.
type packed struct {
	*release.Release
	env []string
}

// pack makes a release of the working tree, of the version that its modules require.
func pack(t *testing.T) *packed {
	t.Helper()
	tool(t, "git")
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	r, err := release.Make(root, requiredVersion(t, root), t.TempDir())
	require.NoError(t, err)
	env, err := r.Env()
	require.NoError(t, err)
	return &packed{r, env}
}

// requiredVersion returns the version of the core that the nested modules require: all the
// same one, which the tree replaces by itself.
func requiredVersion(t *testing.T, root string) string {
	t.Helper()
	version := ""
	work, err := modfile.ParseWork("go.work", read(t, filepath.Join(root, "go.work")), nil)
	require.NoError(t, err)
	for _, use := range work.Use {
		mod, err := modfile.Parse(use.Path+"/go.mod", read(t, filepath.Join(root, use.Path, "go.mod")), nil)
		require.NoError(t, err)
		name := mod.Module.Mod.Path
		if name == corePath {
			continue
		}
		i := slices.IndexFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == corePath })
		require.GreaterOrEqual(t, i, 0, "%s does not require the core", name)
		if version == "" {
			version = mod.Require[i].Mod.Version
		}
		require.Equal(t, version, mod.Require[i].Mod.Version, "%s requires another version of the core than the other modules", name)
		require.True(t, slices.ContainsFunc(mod.Replace, func(r *modfile.Replace) bool {
			return r.Old.Path == corePath && modfile.IsDirectoryPath(r.New.Path)
		}), "%s does not replace the core by a relative path", name)
	}
	require.NotEmpty(t, version, "no nested module says which version of the core is being released")
	return version
}

// blankImports is a program that imports every package of the module which a stranger can
// import.
func (p *packed) blankImports(t *testing.T, m *release.Module) string {
	t.Helper()
	packages, err := p.Packages(m)
	require.NoError(t, err)
	source := "package main\n\nimport (\n"
	for _, path := range packages {
		source += "\t_ \"" + path + "\"\n"
	}
	return source + ")\n\nfunc main() {}\n"
}

// reachable returns the modules that are given and all that they require, by the core's
// own module graph: that of a program which requires the core is pruned, and does not say
// who needs what.
func (p *packed) reachable(t *testing.T, from []string) []string {
	t.Helper()
	cmd := exec.Command("go", "mod", "graph")
	cmd.Dir, cmd.Env = p.Modules[0].Dir, append(os.Environ(), "GOWORK=off")
	requires := make(map[string][]string)
	for line := range strings.Lines(output(t, cmd)) {
		words := strings.Fields(line)
		from, _, _ := strings.Cut(words[0], "@")
		to, _, _ := strings.Cut(words[1], "@")
		requires[from] = append(requires[from], to)
	}
	found := slices.Clone(from)
	for i := 0; i < len(found); i++ { // found grows meanwhile
		for _, path := range requires[found[i]] {
			if !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	return found
}

// consumer is a stranger's module, of one program.
type consumer struct {
	t   testing.TB
	dir string
	env []string
}

// consumer makes a module that requires one of ours, tidied as a stranger would. Its go.mod
// holds the given lines besides.
func (p *packed) consumer(t *testing.T, source, requires string, lines ...string) *consumer {
	t.Helper()
	c := &consumer{t: t, dir: t.TempDir(), env: p.env}
	goMod := "module scratch\n\ngo 1.26.0\n\nrequire " + requires + " " + p.Version + "\n" + strings.Join(lines, "\n") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "go.mod"), []byte(goMod), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "main.go"), []byte(source), 0o644))
	// The sums that the module itself was checked with, so that no checksum database is
	// asked.
	i := slices.IndexFunc(p.Modules, func(m release.Module) bool { return m.Path == requires })
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "go.sum"), read(t, filepath.Join(p.Modules[i].Dir, "go.sum")), 0o644))
	c.goRun("mod", "tidy")
	return c
}

// run builds the program and returns what it prints.
func (c *consumer) run() string {
	c.t.Helper()
	program := filepath.Join(c.t.TempDir(), "scratch.exe")
	c.goRun("build", "-o", program, ".")
	return output(c.t, exec.Command(program))
}

// list returns the words that go list prints.
func (c *consumer) list(args ...string) []string {
	c.t.Helper()
	return strings.Fields(c.goRun(append([]string{"list"}, args...)...))
}

// requireCompiled fails if another module than those given, the core left aside, is
// compiled into the program.
func (c *consumer) requireCompiled(allowed []string, program string) {
	c.t.Helper()
	for _, path := range c.list("-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", program) {
		if path != "scratch" && path != corePath {
			require.Contains(c.t, allowed, path, "compiled into the program")
		}
	}
}

func (c *consumer) goRun(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	return output(c.t, cmd)
}

// output runs a program and returns its standard output.
func output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", cmd, &stderr)
	return string(out)
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return content
}
