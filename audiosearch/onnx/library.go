package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Library is a library of ONNX Runtime.
type Library struct {
	Path    string // of its file; "" if something else in the program has loaded it
	Version string // such as "1.30.0"
}

// Environment is the environment variable that names ONNX Runtime's library.
const Environment = "MORTISE_ONNXRUNTIME"

// What the package needs.
const (
	oldestMinor = 24 // of ONNX Runtime 1
	install     = "ONNX Runtime 1.24 or newer is needed: npm pack onnxruntime-node@1.30.0 has it in " +
		"package/bin/napi-v6, and https://github.com/microsoft/onnxruntime/releases in lib; name the file in " +
		"Options.Library or " + Environment
)

// libraryNames returns what the file of the library is called, the best first. Names may
// have a version where there is a *.
func libraryNames(goos string) []string {
	switch goos {
	case "windows":
		return []string{"onnxruntime.dll"}
	case "darwin", "ios":
		return []string{"libonnxruntime.dylib", "libonnxruntime.1.dylib", "libonnxruntime.1.*.dylib"}
	}
	return []string{"libonnxruntime.so", "libonnxruntime.so.1", "libonnxruntime.so.1.*"}
}

// places are where libraries are looked for.
type places struct {
	program, work string // folders; "" if they are not known
	system        []string
	goos, goarch  string
}

// here returns the places of this process.
func here() places {
	p := places{goos: runtime.GOOS, goarch: runtime.GOARCH}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		p.program = filepath.Dir(exe)
	}
	p.work, _ = os.Getwd()
	p.system = systemFolders(p.goos, p.goarch, os.Getenv)
	return p
}

// systemFolders returns where a system keeps libraries.
func systemFolders(goos, goarch string, getenv func(string) string) []string {
	switch goos {
	case "windows":
		return filepath.SplitList(getenv("PATH"))
	case "darwin", "ios":
		return append(filepath.SplitList(getenv("DYLD_LIBRARY_PATH")),
			"/usr/local/lib", "/opt/homebrew/lib", "/opt/local/lib", "/usr/lib")
	}
	dirs := append(filepath.SplitList(getenv("LD_LIBRARY_PATH")), "/usr/local/lib", "/usr/local/lib64", "/usr/lib")
	if triple := map[string]string{
		"386": "i386-linux-gnu", "amd64": "x86_64-linux-gnu", "arm": "arm-linux-gnueabihf", "arm64": "aarch64-linux-gnu",
		"loong64": "loongarch64-linux-gnu", "ppc64le": "powerpc64le-linux-gnu", "riscv64": "riscv64-linux-gnu",
		"s390x": "s390x-linux-gnu",
	}[goarch]; triple != "" {
		dirs = append(dirs, filepath.Join("/usr/lib", triple))
	}
	return append(dirs, "/usr/lib64", "/opt/onnxruntime/lib")
}

// candidates returns the files that may be the library, in the order in which they are tried.
func (p places) candidates() []string {
	var dirs []string
	if p.program != "" {
		dirs = append(dirs, p.program, filepath.Join(p.program, "lib"))
	}
	dirs = append(dirs, p.system...)
	for _, from := range []string{p.work, p.program} {
		dirs = append(dirs, nodeModules(from, p.goos, p.goarch)...)
	}
	var files []string
	for _, dir := range dirs {
		// An empty element of a path means the working directory, which anybody may own.
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range libraryNames(p.goos) {
			found, _ := filepath.Glob(filepath.Join(escape(dir, p.goos), name))
			slices.SortFunc(found, func(a, b string) int { return compareVersions(b, a) })
			files = append(files, found...)
		}
	}
	return files
}

// escape makes a pattern that matches a folder.
func escape(dir, goos string) string {
	if goos == "windows" { // whose patterns have no escapes
		return dir
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// nodeModules returns the folders of the npm package onnxruntime-node in a folder and those
// above it.
func nodeModules(from, goos, goarch string) []string {
	system, arch := goos, goarch
	if goos == "windows" {
		system = "win32"
	}
	if goarch == "amd64" {
		arch = "x64"
	}
	var dirs []string
	for dir := from; dir != ""; dir = filepath.Dir(dir) {
		pattern := filepath.Join(escape(dir, goos), "node_modules", "onnxruntime-node", "bin", "napi-v*", system, arch)
		found, _ := filepath.Glob(pattern)
		slices.SortFunc(found, func(a, b string) int { return compareVersions(b, a) })
		dirs = append(dirs, found...)
		if filepath.Dir(dir) == dir {
			break
		}
	}
	return dirs
}

// compareVersions compares two names by the numbers in them.
func compareVersions(a, b string) int {
	numbers := func(s string) []int {
		var ns []int
		for _, digits := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(digits)
			ns = append(ns, n)
		}
		return ns
	}
	return slices.Compare(numbers(a), numbers(b))
}

// tooOld reports whether a version is one that lacks what is needed. One that cannot be read
// is not.
func tooOld(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return major == "0" || major == "1" && err == nil && n < oldestMinor
}

// notFound is the error where no library is.
func notFound(p places, failures []error) error {
	if len(failures) == 0 {
		return fmt.Errorf("onnx: there is no ONNX Runtime: looked beside the program (%s), in the system's folders, and in "+
			"node_modules/onnxruntime-node from %s upwards; %s", p.program, p.work, install)
	}
	const shown = 3
	var texts []string
	for i, err := range failures {
		if i == shown {
			texts = append(texts, fmt.Sprintf("and %d more", len(failures)-i))
			break
		}
		texts = append(texts, err.Error())
	}
	return fmt.Errorf("onnx: no ONNX Runtime that was found can be used: %s; %s", strings.Join(texts, "; "), install)
}
