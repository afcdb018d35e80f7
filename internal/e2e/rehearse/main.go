// Command rehearse makes a release of a working tree, and uses it as a stranger would: it
// gets each module and builds a program that imports all of its packages, and it installs
// the example server and starts it. It publishes nothing, and leaves nothing behind but the
// released tree, if it is told where. Run it as .ci/release VERSION [FOLDER].
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/e2e/release"
)

func main() {
	if len(os.Args) != 2 && len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: rehearse VERSION [FOLDER]")
		os.Exit(2)
	}
	keep := ""
	if len(os.Args) == 3 {
		keep = os.Args[2]
	}
	if err := rehearse(os.Args[1], keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// rehearse makes a release of the tree of the working directory. It leaves the released
// tree at keep, unless that is empty.
func rehearse(version, keep string) (err error) {
	if _, err := os.Stat(keep); keep != "" && err == nil {
		return fmt.Errorf("%s is there already: name a folder that is not", keep)
	}
	folder, err := os.MkdirTemp("", "mortise-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	r, err := release.Make(".", version, folder)
	if err != nil {
		return err
	}
	env, err := r.Env()
	if err != nil {
		return err
	}
	s := &stranger{
		release: r, folder: filepath.Join(folder, "stranger"),
		// The sums of other people's modules are in the repository; .ci/run builds with
		// them. Here the database would be asked for hundreds.
		env: append(env, "GOSUMDB=off", "GOBIN="+filepath.Join(folder, "bin")),
	}
	for i := range r.Modules {
		if err := s.get(&r.Modules[i]); err != nil {
			return fmt.Errorf("%s: %w", r.Modules[i].Path, err)
		}
	}
	if err := s.install(release.Core+"/examples/server", filepath.Join(folder, "bin", "server")); err != nil {
		return err
	}
	if err := s.mix(release.Core + "/storage/sqlite"); err != nil {
		return err
	}
	if keep != "" {
		if err := os.CopyFS(keep, os.DirFS(r.Tree())); err != nil {
			return err
		}
	}
	fmt.Println("\nAll tags of the release, in the order in which they must be pushed:")
	for _, m := range r.Modules {
		fmt.Println("  " + m.Tag)
	}
	return nil
}

// stranger is somebody who has nothing but a module proxy.
type stranger struct {
	release *release.Release
	folder  string
	env     []string
}

// get adds a module to a new one, and builds with it.
func (s *stranger) get(m *release.Module) error {
	wanted := m.Path + "@" + s.release.Version
	packages, err := s.release.Packages(m)
	if err != nil {
		return err
	}
	dir := filepath.Join(s.folder, filepath.Base(m.Dir))
	source := "package main\n\nimport (\n"
	for _, p := range packages {
		source += "\t_ \"" + p + "\"\n"
	}
	source += ")\n\nfunc main() {}\n"
	err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644))
	for _, args := range [][]string{
		{"mod", "init", "stranger"},
		{"get", wanted},
		{"build", "-o", os.DevNull, "."},
	} {
		if err != nil {
			return err
		}
		_, err = s.run(dir, "go", args...)
	}
	if err == nil {
		// The module's own go.sum is complete.
		_, err = s.run(m.Dir, "go", "list", "-mod=readonly", "-deps", "./...")
	}
	if err == nil {
		fmt.Printf("go get %s: %d packages build\n", wanted, len(packages))
	}
	return err
}

// mix builds a nested module with a core of another minor version, and reads the error.
func (s *stranger) mix(path string) error {
	core, dir := filepath.Join(s.folder, "othercore"), filepath.Join(s.folder, "mixed")
	err := os.CopyFS(core, os.DirFS(s.release.Tree()))
	name := filepath.Join(core, "internal", "release", "release.go")
	var text []byte
	if err == nil {
		text, err = os.ReadFile(name)
	}
	if err == nil {
		other := strings.ReplaceAll(string(text), "const V", "const VOther")
		err = errors.Join(os.WriteFile(name, []byte(other), 0o644), os.MkdirAll(dir, 0o755),
			os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nimport _ \""+path+"\"\n\nfunc main() {}\n"), 0o644))
	}
	for _, args := range [][]string{
		{"mod", "init", "stranger"},
		{"mod", "edit", "-replace=" + release.Core + "=" + core},
		{"get", path + "@" + s.release.Version},
	} {
		if err != nil {
			return err
		}
		_, err = s.run(dir, "go", args...)
	}
	if err != nil {
		return err
	}
	if _, err = s.run(dir, "go", "build", "-o", os.DevNull, "."); err == nil || !strings.Contains(err.Error(), "undefined: release.V") {
		return fmt.Errorf("%s with a core of another minor version: want an undefined constant of its version, not %w", path, err)
	}
	fmt.Printf("%s does not build with a core of another minor version\n", path)
	return nil
}

// install installs a program, which then says what it was built from, and starts.
func (s *stranger) install(path, program string) error {
	wanted := path + "@" + s.release.Version
	if _, err := s.run(s.folder, "go", "install", wanted); err != nil {
		return err
	}
	said, err := s.run(s.folder, "go", "version", "-m", program)
	if err == nil && !strings.Contains(said, "\tmod\t"+path+"\t"+s.release.Version+"\t") {
		err = fmt.Errorf("%s was built from something else:\n%s", wanted, said)
	}
	if err == nil {
		_, err = s.run(s.folder, program, "-h")
	}
	if err == nil {
		fmt.Printf("go install %s: it starts\n", wanted)
	}
	return err
}

func (s *stranger) run(dir, program string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, s.env, &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	return string(out), err
}
