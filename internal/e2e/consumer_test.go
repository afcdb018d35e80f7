package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	// What is packed is not what go test sees this package use. By these it sees, and
	// runs the tests again after a change.
	_ "github.com/seed-6363c74e/mortise/httpadapter"
	_ "github.com/seed-6363c74e/mortise/storage/memory"
	_ "github.com/seed-6363c74e/mortise/trigger"
)

// A stranger gets Mortise as a zip file from a module proxy: without go.work, without the
// replace lines, without the nested modules. These tests pack the tree as a release would
// and use it in a program of its own, far from the workspace.

const (
	corePath   = "github.com/seed-6363c74e/mortise"
	serverPath = corePath + "/examples/server"
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

// serverCompiled is what ends in an operator's binary besides: the storage, the model and
// the splitting of a command. No router of other people's is among it.
var serverCompiled = slices.Concat(compiled, []string{
	corePath + "/audiosearch/onnx",
	corePath + "/examples/server",
	corePath + "/storage/sqlite",
	"github.com/dustin/go-humanize",
	"github.com/remyoudompheng/bigfft",
	"github.com/yalue/onnxruntime_go",
	"golang.org/x/sys",
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
	backend := db.Trigger()
	backend.Directory = nil // every organization is set up
	service, err := trigger.New(backend, nil)
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
	release := pack(t)

	t.Run("types", func(t *testing.T) {
		t.Parallel()
		c := release.consumer(t, typesProgram, corePath)
		require.Equal(t, "true true httpadapter: forbidden\n", c.run())

		// Nothing comes with the core but its four requirements and what those require.
		needs := release.reachable(t, coreNeeds)
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
		c := release.consumer(t, memoryProgram, corePath)
		require.Equal(t, "completed\n", c.run())
		c.requireCompiled(compiled, "./...")
	})

	// The nested modules are not built here, only resolved: their own tests build them,
	// and some need cgo.
	for _, nested := range release.modules[1:] {
		if nested.path == serverPath {
			continue
		}
		t.Run(strings.TrimPrefix(nested.path, corePath+"/"), func(t *testing.T) {
			t.Parallel()
			c := release.consumer(t, nested.blankImports(t), nested.path)
			for _, path := range c.list("-m", "-f", "{{.Path}}", "all") {
				ours := path == corePath || path == nested.path
				require.False(t, strings.HasPrefix(path, corePath) && !ours, "%s brings %s", nested.path, path)
			}
			c.list("-deps", "./...")
		})
	}

	// Nor is the server: it is what all others are for, and what brings them together.
	t.Run("examples/server", func(t *testing.T) {
		t.Parallel()
		c := release.consumer(t, "package main\n\nfunc main() {}\n", serverPath, "tool "+serverPath)
		c.requireCompiled(serverCompiled, serverPath)
	})
}

// packed is a release of all modules that strangers may import, and of the server, in a
// module proxy made of files.
type packed struct {
	version string
	proxy   string
	cache   string // of the modules that strangers have downloaded: this release must not stay in the developer's
	root    string
	modules []packedModule // the core first
}

type packedModule struct{ path, dir string }

// pack makes a release of the working tree.
func pack(t *testing.T) *packed {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	work, err := modfile.ParseWork("go.work", read(t, filepath.Join(root, "go.work")), nil)
	require.NoError(t, err)

	p := &packed{root: root, proxy: t.TempDir(), cache: t.TempDir(), modules: []packedModule{{corePath, root}}}
	for _, use := range work.Use {
		dir := filepath.Join(root, use.Path)
		mod, err := modfile.Parse(use.Path+"/go.mod", read(t, filepath.Join(dir, "go.mod")), nil)
		require.NoError(t, err)
		path := mod.Module.Mod.Path
		if path == corePath {
			continue
		}
		p.requireRelease(t, mod)
		if path != corePath+"/examples" && path != corePath+"/internal/e2e" { // these two are for nobody to import
			p.modules = append(p.modules, packedModule{path, dir})
		}
	}
	require.NotEmpty(t, p.version, "no nested module says which version of the core is being released")
	for _, m := range p.modules {
		p.add(t, m)
	}
	return p
}

// requireRelease checks a nested go.mod: all modules share one version, and in the
// repository the core is the one of the tree.
func (p *packed) requireRelease(t *testing.T, mod *modfile.File) {
	t.Helper()
	name := mod.Module.Mod.Path
	i := slices.IndexFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == corePath })
	require.GreaterOrEqual(t, i, 0, "%s does not require the core", name)
	version := mod.Require[i].Mod.Version
	if p.version == "" {
		p.version = version
	}
	require.Equal(t, p.version, version, "%s requires another version of the core than the other modules", name)
	require.True(t, slices.ContainsFunc(mod.Replace, func(r *modfile.Replace) bool {
		return r.Old.Path == corePath && modfile.IsDirectoryPath(r.New.Path)
	}), "%s does not replace the core by a relative path", name)
}

// add puts a module into the proxy, as "go help goproxy" describes it.
func (p *packed) add(t *testing.T, m packedModule) {
	t.Helper()
	escaped, err := module.EscapePath(m.path)
	require.NoError(t, err)
	dir := filepath.Join(p.proxy, filepath.FromSlash(escaped), "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	var packed bytes.Buffer
	require.NoError(t, zip.CreateFromDir(&packed, module.Version{Path: m.path, Version: p.version}, m.dir))
	info, err := json.Marshal(map[string]any{"Version": p.version, "Time": time.Unix(0, 0).UTC()})
	require.NoError(t, err)
	for name, content := range map[string][]byte{
		"list":              []byte(p.version + "\n"),
		p.version + ".info": info,
		p.version + ".mod":  read(t, filepath.Join(m.dir, "go.mod")),
		p.version + ".zip":  packed.Bytes(),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
}

// blankImports is a program that imports every package of the module which a stranger can
// import.
func (m packedModule) blankImports(t *testing.T) string {
	t.Helper()
	source := "package main\n\nimport (\n"
	cmd := exec.Command("go", "list", "-find", "-f", "{{if ne .Name \"main\"}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), "GOWORK=off")
	for _, path := range strings.Fields(output(t, cmd)) {
		if !strings.Contains(path+"/", "/internal/") {
			source += "\t_ \"" + path + "\"\n"
		}
	}
	return source + ")\n\nfunc main() {}\n"
}

// reachable returns the modules that are given and all that they require, by the core's
// own module graph: that of a program which requires the core is pruned, and does not say
// who needs what.
func (p *packed) reachable(t *testing.T, from []string) []string {
	t.Helper()
	cmd := exec.Command("go", "mod", "graph")
	cmd.Dir, cmd.Env = p.root, append(os.Environ(), "GOWORK=off")
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
	t   *testing.T
	dir string
	env []string
}

// consumer makes a module that requires one of ours, tidied as a stranger would. Its go.mod
// holds the given lines besides.
func (p *packed) consumer(t *testing.T, source, requires string, lines ...string) *consumer {
	t.Helper()
	environment := strings.Split(strings.TrimSpace(output(t, exec.Command("go", "env", "GOMODCACHE", "GOPROXY"))), "\n")
	modCache, goProxy := environment[0], environment[1]
	c := &consumer{t: t, dir: t.TempDir(), env: append(os.Environ(),
		"GOWORK=off",
		// -trimpath: what is built does not depend on the folder, so the build cache
		// serves the next run.
		"GOFLAGS=-mod=mod -modcacherw -trimpath -buildvcs=false",
		"GOMODCACHE="+p.cache,
		// The developer's downloads serve as a second proxy.
		"GOPROXY=file://"+filepath.ToSlash(p.proxy)+",file://"+filepath.ToSlash(filepath.Join(modCache, "cache", "download"))+","+goProxy,
		"GONOPROXY=none", "GONOSUMDB="+corePath, "GOPRIVATE=",
	)}
	goMod := "module scratch\n\ngo 1.26.0\n\nrequire " + requires + " " + p.version + "\n" + strings.Join(lines, "\n") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "go.mod"), []byte(goMod), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "main.go"), []byte(source), 0o644))
	// The sums that the module itself was checked with, so that no checksum database is
	// asked.
	i := slices.IndexFunc(p.modules, func(m packedModule) bool { return m.path == requires })
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "go.sum"), read(t, filepath.Join(p.modules[i].dir, "go.sum")), 0o644))
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
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", cmd, &stderr)
	return string(out)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return content
}
