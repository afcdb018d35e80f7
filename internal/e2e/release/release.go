// Package release makes a release of Mortise without publishing anything: the tree as it
// would be tagged, and a module proxy made of files that serves it.
package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// Core is the path of the core module. Those of the others begin with it.
const Core = "github.com/seed-6363c74e/mortise"

// unpublished are the modules that nobody can use from outside of the repository.
var unpublished = []string{Core + "/internal/e2e"}

// Release is a release of all modules.
type Release struct {
	Version string   // of every module
	Modules []Module // each stands behind those that it requires, so the core comes first

	folder string
}

// Module is one module of a release.
type Module struct {
	Path string
	Dir  string // in the released tree
	Tag  string // in git

	requires []string // of ours
}

// Make copies a working tree into a folder, what git ignores left aside, and makes it a
// release there: no module replaces another, all require one version of each other and know
// its checksums. It needs git and the go command.
func Make(tree, version, folder string) (*Release, error) {
	if semver.Canonical(version) != version || semver.Build(version) != "" {
		return nil, fmt.Errorf("%q is not a version of a module; write one as v0.1.0", version)
	}
	r := &Release{Version: version, folder: folder}
	if err := copyTree(tree, r.Tree()); err != nil {
		return nil, err
	}
	if err := r.readModules(); err != nil {
		return nil, err
	}
	for i := range r.Modules {
		if err := r.publish(&r.Modules[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Modules[i].Path, err)
		}
	}
	return r, nil
}

// Env returns the environment of a stranger's go command: it takes our modules from this
// release, and keeps what it downloads away from the developer's own downloads, in which
// this release must not stay. Those serve as a second proxy.
func (r *Release) Env() ([]string, error) {
	out, err := run(r.folder, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return nil, err
	}
	downloads, proxies, _ := strings.Cut(strings.TrimSpace(out), "\n")
	files := func(elements ...string) string { return "file://" + filepath.ToSlash(filepath.Join(elements...)) }
	return append(os.Environ(),
		"GOWORK=off",
		// -trimpath: what is built does not depend on the folder, so the build cache
		// serves the next run.
		"GOFLAGS=-mod=mod -modcacherw -trimpath -buildvcs=false",
		"GOMODCACHE="+filepath.Join(r.folder, "downloads"),
		"GOPROXY="+files(r.folder, "proxy")+","+files(downloads, "cache", "download")+","+proxies,
		// No database knows the sums of this release. The others' are in go.sum.
		"GOPRIVATE=", "GONOPROXY=", "GONOSUMDB="+Core,
	), nil
}

// Tree returns the folder of the released tree.
func (r *Release) Tree() string { return filepath.Join(r.folder, "tree") }

func copyTree(from, to string) error {
	files, err := run(from, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return err
		}
		file := filepath.Join(to, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// readModules finds the modules of the workspace, and makes their go.mod files those of the
// release.
func (r *Release) readModules() error {
	content, err := os.ReadFile(filepath.Join(r.Tree(), "go.work"))
	if err != nil {
		return err
	}
	work, err := modfile.ParseWork("go.work", content, nil)
	if err != nil {
		return err
	}
	var found []Module
	for _, use := range work.Use {
		m, err := r.readModule(use.Path)
		if err != nil {
			return err
		}
		if !slices.Contains(unpublished, m.Path) {
			found = append(found, m)
		}
	}
	for len(found) > 0 {
		ready := slices.IndexFunc(found, func(m Module) bool {
			return !slices.ContainsFunc(found, func(other Module) bool { return slices.Contains(m.requires, other.Path) })
		})
		if ready < 0 {
			return fmt.Errorf("modules require each other in a circle, %s among them", found[0].Path)
		}
		r.Modules = append(r.Modules, found[ready])
		found = slices.Delete(found, ready, ready+1)
	}
	return nil
}

func (r *Release) readModule(dir string) (Module, error) {
	file := filepath.Join(r.Tree(), dir, "go.mod")
	content, err := os.ReadFile(file)
	if err != nil {
		return Module{}, err
	}
	mod, err := modfile.Parse(path.Join(dir, "go.mod"), content, nil)
	if err != nil {
		return Module{}, err
	}
	m := Module{Path: mod.Module.Mod.Path, Dir: filepath.Dir(file), Tag: r.Version}
	if below, nested := strings.CutPrefix(m.Path, Core+"/"); nested {
		m.Tag = below + "/" + r.Version
		if filepath.ToSlash(filepath.Clean(dir)) != below {
			return Module{}, fmt.Errorf("the module %s stands in %s: no tag can name it", m.Path, dir)
		}
	}
	for _, replaced := range mod.Replace {
		if !ours(replaced.Old.Path) || !modfile.IsDirectoryPath(replaced.New.Path) {
			return Module{}, fmt.Errorf("%s replaces %s, which a release cannot", m.Path, replaced.Old.Path)
		}
		if err := mod.DropReplace(replaced.Old.Path, replaced.Old.Version); err != nil {
			return Module{}, err
		}
	}
	for _, required := range mod.Require {
		if !ours(required.Mod.Path) {
			continue
		}
		m.requires = append(m.requires, required.Mod.Path)
		if err := mod.AddRequire(required.Mod.Path, r.Version); err != nil {
			return Module{}, err
		}
	}
	mod.Cleanup()
	content, err = mod.Format()
	if err != nil {
		return Module{}, err
	}
	return m, os.WriteFile(file, content, 0o644)
}

func ours(module string) bool { return module == Core || strings.HasPrefix(module, Core+"/") }

// publish puts a module into the proxy, as "go help goproxy" describes it. What it requires
// is there already, so its go.sum can name it.
func (r *Release) publish(m *Module) error {
	if err := r.addSums(m); err != nil {
		return err
	}
	// The go command adds the repository's licence to modules without one of their own.
	if m.Path != Core {
		licence, err := os.ReadFile(filepath.Join(r.Tree(), "LICENSE"))
		if err == nil {
			err = os.WriteFile(filepath.Join(m.Dir, "LICENSE"), licence, 0o644)
		}
		if err != nil {
			return err
		}
	}
	served, err := r.served(m.Path)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	info, infoErr := json.Marshal(map[string]any{"Version": r.Version, "Time": time.Unix(0, 0).UTC()})
	mod, modErr := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
	err = errors.Join(
		zip.CreateFromDir(&packed, module.Version{Path: m.Path, Version: r.Version}, m.Dir),
		infoErr, modErr, os.MkdirAll(filepath.Dir(served), 0o755),
		os.WriteFile(filepath.Join(filepath.Dir(served), "list"), []byte(r.Version+"\n"), 0o644),
	)
	for ending, content := range map[string][]byte{".info": info, ".mod": mod, ".zip": packed.Bytes()} {
		err = errors.Join(err, os.WriteFile(served+ending, content, 0o644))
	}
	return err
}

// served returns the path in the proxy of a module's files, without their endings.
func (r *Release) served(name string) (string, error) {
	escaped, err := module.EscapePath(name)
	return filepath.Join(r.folder, "proxy", filepath.FromSlash(escaped), "@v", r.Version), err
}

// addSums writes into a module's go.sum what it requires of ours.
func (r *Release) addSums(m *Module) error {
	if len(m.requires) == 0 {
		return nil
	}
	file := filepath.Join(m.Dir, "go.sum")
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	for _, path := range m.requires {
		served, err := r.served(path)
		if err != nil {
			return err
		}
		all, err := dirhash.HashZip(served+".zip", dirhash.Hash1)
		if err != nil {
			return err
		}
		mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return os.Open(served + ".mod") })
		if err != nil {
			return err
		}
		lines = append(lines, path+" "+r.Version+" "+all, path+" "+r.Version+"/go.mod "+mod)
	}
	slices.Sort(lines)
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// Packages returns the packages of a module that a stranger can import.
func (r *Release) Packages(m *Module) ([]string, error) {
	env, err := r.Env()
	if err != nil {
		return nil, err
	}
	out, err := run(m.Dir, env, "go", "list", "-find", "-f", "{{if ne .Name \"main\"}}{{.ImportPath}}{{end}}", "./...")
	packages := strings.Fields(out)
	return slices.DeleteFunc(packages, func(p string) bool { return strings.Contains(p+"/", "/internal/") }), err
}

// run runs a program and returns its standard output. A failure says what the program said.
func run(dir string, env []string, program string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	return string(out), err
}
