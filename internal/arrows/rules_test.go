package arrows

import (
	"fmt"
	"slices"
	"strings"
)

// core is the path of the core module. All names in the tables below are import paths
// without it.
const core = "github.com/seed-6363c74e/mortise"

// row says what packages may import of ours.
type row struct {
	pkg    string   // one package, or "x/..." for x and everything below; those may also import each other
	code   []string // the rows that the code may import
	tests  []string // the rows that _test.go files may import besides
	module bool     // the package is the root of a nested module
	inner  bool     // the package is inside a nested module
}

// rows is the whole house: a package that stands in no row is refused. The first row that
// fits counts.
//
// The domains are the floor. Plugs and backends stand on them, the HTTP adapter beside
// the backends. The examples see what a stranger sees, and only the end-to-end tests see
// everything. Nobody imports those two.
var rows = slices.Concat([]row{
	// The root, which all domains share. It is below everything but the helpers.
	{pkg: root, code: []string{"internal/..."}, tests: []string{
		// The fakes of two domains share a clock in an Example.
		"storage/queuetest", "storage/memory", "internal/...", "trigger", "trigger/triggertest", "authmgmt", "authmgmt/access", "authmgmt/authmgmttest",
	}},

	// Domains: the helpers in internal/, never each other.
	{pkg: "trigger", code: []string{root, "internal/overdue", "internal/pages", "internal/..."}, tests: []string{"trigger/triggertest", "storage/leases", "storage/memory"}},
	{pkg: "vault", code: []string{root, "vault/format", "vault/keyring", "internal/pages", "internal/..."}, tests: []string{"vault/vaulttest", "vault/localkeys", "storage/memory"}},
	{pkg: "authmgmt", code: []string{root, "authmgmt/access", "internal/pages", "internal/..."}, tests: []string{"authmgmt/authmgmttest", "storage/memory"}},
	{pkg: "audiosearch", code: []string{root, "audiosearch/internal/...", "audiosearch/metadata", "audiosearch/sound", "internal/overdue", "internal/turns", "internal/pages", "internal/..."}, tests: mediaTests},

	// Leaves: what stands under a domain, for the readers of one idea.
	{pkg: "authmgmt/access", code: []string{"internal/..."}},
	{pkg: "audiosearch/metadata", code: []string{"internal/..."}},
	{pkg: "audiosearch/sound", code: []string{"internal/..."}, tests: mediaTests},
	{pkg: "audiosearch/internal/...", code: []string{"audiosearch/sound", "internal/..."}},
	{pkg: "vault/format", code: []string{"vault/keyring", "internal/..."}},
	{pkg: "vault/keyring", tests: []string{"vault/localkeys"}},

	// Conformance suites and fakes: their domain, what the fakes run on, and what all
	// suites share.
	{pkg: "trigger/triggertest", code: []string{root, "trigger/triggertest/internal/delegate", "trigger", "storage/memory", sharedRules, "storage/leases", "internal/fake", "internal/fault", "internal/pages"}},
	{pkg: "vault/vaulttest", code: []string{root, "vault/vaulttest/internal/delegate", "vault", "vault/format", "vault/keyring", "vault/localkeys", "storage/memory", sharedRules, "storage/leases", "internal/fake", "internal/fault", "internal/pages"}},
	{pkg: "authmgmt/authmgmttest", code: []string{root, "authmgmt/authmgmttest/internal/delegate", "authmgmt", "authmgmt/access", "storage/memory", sharedRules, "storage/leases", "internal/fake", "internal/fault", "internal/pages"}},
	{pkg: "audiosearch/audiosearchtest", code: []string{root, "audiosearch/audiosearchtest/internal/delegate", "audiosearch", "audiosearch/metadata", "audiosearch/sound", "audiosearch/audioset", "audiosearch/wav", "storage/memory", sharedRules, "storage/leases", "internal/fake", "internal/fault", "internal/pages"}},

	// What stands between a backend and a suite's faults and mutants.
	{pkg: "vault/vaulttest/internal/delegate", code: []string{root, "vault", "vault/keyring"}},
	{pkg: "authmgmt/authmgmttest/internal/delegate", code: []string{root, "authmgmt"}},
	{pkg: "trigger/triggertest/internal/delegate", code: []string{root, "trigger"}},
	{pkg: "audiosearch/audiosearchtest/internal/delegate", code: []string{root, "audiosearch"}},

	// Plugs: their domain, or its leaf for them. columnar is what backends keep and
	// rank scores with.
	{pkg: "trigger/command", code: []string{"trigger"}},
	{pkg: "vault/localkeys", code: []string{"vault/keyring", "internal/durable", "internal/..."}, tests: []string{"vault", "vault/vaulttest", "storage/memory"}},
	{pkg: "vault/sandbox", code: []string{root, "vault", "vault/localkeys", "storage/memory"}, tests: []string{"vault/keyring"}},
	{pkg: "vault/tink/...", code: []string{"vault/keyring", "internal/release"}, tests: []string{"vault", "vault/vaulttest", "vault/localkeys", "storage/memory"}, module: true},
	{pkg: "audiosearch/astfeatures", code: []string{"internal/fft"}},
	{pkg: "audiosearch/audioset", code: []string{"audiosearch/sound"}},
	{pkg: "audiosearch/modelfile", code: []string{"internal/durable", "internal/..."}},
	{pkg: "audiosearch/spectrogram", code: []string{"internal/fft"}},
	{pkg: "audiosearch/wav", code: []string{"audiosearch/sound", "internal/fft"}},
	{pkg: "audiosearch/columnar", code: []string{"audiosearch", "audiosearch/metadata", "audiosearch/sound", "internal/turns", "internal/..."}, tests: []string{"audiosearch/audioset"}},
	{pkg: "audiosearch/excerpt", code: []string{"audiosearch", "audiosearch/sound", "audiosearch/spectrogram", "audiosearch/wav"}, tests: mediaTests},
	{pkg: "audiosearch/ingest", code: []string{root, "audiosearch"}, tests: slices.Concat(mediaTests, []string{"audiosearch/sound"})},
	{pkg: "audiosearch/synth", tests: []string{"audiosearch/signal", "audiosearch/sound"}},
	{pkg: "audiosearch/folder", code: []string{root, "audiosearch", "audiosearch/metadata", "audiosearch/sound", "internal/..."}, tests: mediaTests},
	{pkg: "audiosearch/signal", code: []string{"audiosearch/sound", "internal/fft"}, tests: mediaTests},
	{pkg: "audiosearch/ffmpeg", code: []string{"audiosearch/sound"}, tests: mediaTests},
	{pkg: "audiosearch/inference", code: []string{"audiosearch/sound", "audiosearch/astfeatures", "audiosearch/audioset"}, tests: []string{"audiosearch/audiosearchtest", "storage/memory"}},
	{pkg: "audiosearch/oip", code: slices.Concat(networkCode, []string{"internal/..."}), tests: []string{sharedRules, "audiosearch", "audiosearch/audiosearchtest", "audiosearch/folder", "storage/memory"}},
	{pkg: "audiosearch/onnx/...", code: slices.Concat(networkCode, []string{"internal/release"}), tests: []string{"audiosearch/audiosearchtest", "audiosearch/wav", "audiosearch/ffmpeg", "storage/memory"}, module: true},

	// Backends: the domains whose interfaces they implement. Those in a nested module
	// import of internal/ only the decisions that backends share.
	{pkg: "storage", tests: backendTests},
	{pkg: "storage/leases", code: []string{root, "internal/..."}, tests: []string{"storage/queuetest", "storage/memory"}},
	{pkg: "storage/queuetest", code: []string{root, "storage/leases", sharedRules}, tests: []string{"storage/memory", "internal/fault"}},
	{pkg: "storage/memory", code: slices.Concat(domains, []string{"audiosearch/columnar", "internal/pages", "internal/..."}), tests: backendTests},
}, roomsOf("storage/sqlite", "file", "audit"), roomsOf("storage/postgres", "engine", "sqltext"), []row{
	{pkg: "storage/river/...", code: []string{root, "internal/release"}, tests: slices.Concat(backendTests, []string{"internal/testmain", "internal/pgserver"}), module: true},
	{pkg: "storage/jetstream/...", code: []string{root, "internal/release"}, tests: slices.Concat(backendTests, []string{"internal/testmain"}), module: true},

	// The HTTP adapter: the domains, never a backend.
	//
	// Beside it: a client of its operations, which needs no domain; pages for people, which
	// are mounted as it is; and what tells OpenTelemetry of all observers.
	{pkg: "httpadapter/client", code: []string{root}, tests: anyTests},
	{pkg: "httpadapter/console", code: []string{root, "httpadapter", "audiosearch/audioset", "audiosearch/excerpt", "audiosearch/spectrogram", "internal/..."}, tests: anyTests},
	{pkg: "httpadapter/otel/...", code: slices.Concat(domains, []string{"httpadapter"}), tests: anyTests, module: true},
	{pkg: "httpadapter/...", code: slices.Concat(domains, []string{"audiosearch/audioset", "internal/pages", "internal/..."}), tests: slices.Concat(backendTests, mediaTests, []string{"internal/testmain"})},

	// What an operator's document is applied to: the services, whatever their backends are.
	{
		pkg:   "storage/provision",
		code:  []string{root, "trigger", "vault", "authmgmt", "authmgmt/access", "audiosearch", "audiosearch/metadata", "internal/..."},
		tests: []string{"vault/localkeys", "storage/memory"},
	},

	// Above all others.
	{pkg: "examples/server/...", code: []string{public}, tests: []string{"internal/pgserver"}, module: true},
	{pkg: "examples/killme/...", code: []string{public}, module: true},
	{pkg: "examples/...", code: []string{public}, module: true},
	{pkg: "internal/e2e/...", code: []string{anything}, module: true},

	// Helpers of the suites.
	{pkg: sharedRules, code: []string{root}},
	{pkg: "internal/fake"},
	{pkg: "internal/pgserver", code: []string{"internal/testmain"}},
	{pkg: "internal/fault", code: []string{root, "storage/leases"}},

	// It puts the names of files on the disk.
	{pkg: "internal/durable"},

	// What the domains do alike about lost jobs.
	{pkg: "internal/overdue", code: []string{root}},

	// For functions TestMain.
	{pkg: "internal/testmain"},

	// The switch of long tests, which every test may import.
	{pkg: nightly},

	// The one FFT.
	{pkg: "internal/fft"},

	// Decisions that backends in nested modules share.
	{pkg: "internal/turns"},
	{pkg: "internal/pages", code: []string{root, "internal/..."}},
	{pkg: "internal/roletext", code: []string{"authmgmt/access"}},
	{pkg: "internal/tables"},
	{pkg: "internal/tracetext"},
	{pkg: "internal/release"},

	// Helpers of the core module: each other, and the root, which they serve.
	{pkg: "internal/...", code: []string{root}},
})

// roomsOf returns the rows of a backend: the engine, packages that rooms share, a room for jobs
// and one for each domain, and the house that puts them together. A room imports the engine, its
// domain, and no other room but jobs.
func roomsOf(backend, engine, shared string) []row {
	in := func(name string) string { return backend + "/internal/" + name }
	tests := slices.Concat(backendTests, []string{in("filetest"), "internal/testmain", "internal/pgserver"})
	room := func(name string, code ...string) row {
		return row{pkg: in(name), inner: true, code: append(code, root, in(engine), in(shared), "internal/pages", "internal/tracetext"), tests: tests}
	}
	return []row{
		{pkg: in("sqltext"), inner: true, code: []string{"internal/tracetext"}, tests: tests},
		{pkg: in(engine), inner: true, code: []string{root, in("sqltext"), "internal/durable", "internal/tables", "internal/turns"}, tests: tests},
		{pkg: in("audit"), inner: true, code: []string{root, in(engine), "internal/pages"}, tests: tests},
		{pkg: in("filetest"), inner: true, code: []string{in(engine), "internal/testmain"}},
		room("jobs", "storage/leases"),
		room("triggerdb", "trigger", in("jobs")),
		room("authmgmtdb", "authmgmt", "authmgmt/access", "internal/roletext"),
		room("vaultdb", "vault", "vault/format", "vault/keyring"),
		room("audiosearchdb", "audiosearch", "audiosearch/metadata", "audiosearch/sound", "audiosearch/columnar", in("jobs")),
		{pkg: backend + "/...", module: true, tests: tests, code: slices.Concat(domains, []string{
			in(engine), in("jobs"), in("triggerdb"), in("authmgmtdb"), in("vaultdb"), in("audiosearchdb"),
			"internal/durable", "internal/pages", "internal/release", "internal/tables",
		})},
	}
}

var (
	domains      = []string{root, "storage/leases", "trigger", "vault", "vault/format", "vault/keyring", "authmgmt", "authmgmt/access", "audiosearch", "audiosearch/metadata", "audiosearch/sound"}
	suites       = []string{"storage/queuetest", "trigger/triggertest", "vault/vaulttest", "authmgmt/authmgmttest", "audiosearch/audiosearchtest"}
	backendTests = slices.Concat(domains, suites, []string{"storage/memory", "vault/localkeys", "audiosearch/columnar", "audiosearch/audioset"})
	mediaTests   = []string{"storage/leases", "audiosearch/audioset", "audiosearch/audiosearchtest", "audiosearch/folder", "audiosearch/wav", "audiosearch/ffmpeg", "audiosearch/signal", "audiosearch/synth", "storage/memory"}
	anyTests     = slices.Concat(backendTests, mediaTests, []string{"httpadapter/..."})
	networkCode  = []string{"audiosearch/sound", "audiosearch/astfeatures", "audiosearch/audioset", "audiosearch/inference"}
	nobody       = []string{"examples/server/...", "examples/killme/...", "examples/...", "internal/e2e/..."} // who imports these
)

// root is the package in the module's own folder.
const root = "."

// sharedRules is what several suites say. It may import what suites may of other people's
// modules.
const sharedRules = "internal/conformance/..."

// nightly says which tests are for the night alone: no code does.
const nightly = "internal/nightly"

// anything stands for every row but nobody's.
const anything = "anything"

// public stands for every row that a stranger can import: neither nobody's nor internal.
// Who copies an example must be able to.
const public = "what a stranger can import"

// thirdParty is what the core module may import from outside the standard library. Nested
// modules choose for themselves.
var thirdParty = struct{ code, suites, tests []string }{
	code:   []string{"github.com/google/uuid", "github.com/hashicorp/go-multierror", "golang.org/x/sync"},
	suites: []string{"github.com/google/uuid", "github.com/hashicorp/go-multierror", "golang.org/x/sync", "github.com/stretchr/testify"},
	tests:  []string{"github.com/google/uuid", "github.com/stretchr/testify"},
}

// topLevel is all that may stand in the root of the repository, beside the Go files of
// the root package.
var topLevel = []string{
	"trigger", "vault", "authmgmt", "audiosearch", "httpadapter", "storage", "examples", "docs", "internal", ".ci", ".github",
	"go.mod", "go.sum", "go.work", "README.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", ".gitignore", ".gitattributes",
}

// rowOf returns the row of a package of ours, nil if it has none.
func rowOf(pkg string) *row {
	for i := range rows {
		if within(pkg, rows[i].pkg) {
			return &rows[i]
		}
	}
	return nil
}

// within reports whether a package is what a pattern names.
func within(pkg, pattern string) bool {
	if base, deep := strings.CutSuffix(pattern, "/..."); deep {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pkg == pattern
}

// ours returns an import path without the core module's, and whether it is one of ours.
func ours(path string) (string, bool) {
	if path == core {
		return ".", true
	}
	return strings.CutPrefix(path, core+"/")
}

// checkArrow returns an error if the package, named without the core module's path, may
// not import path. test says that a _test.go file does.
func checkArrow(pkg string, test bool, path string) error {
	from := rowOf(pkg)
	if from == nil {
		return fmt.Errorf("%s stands in no row of the table; give it one, and a place in the design", pkg)
	}
	target, isOurs := ours(path)
	if !isOurs {
		return checkThirdParty(from, test, path)
	}
	if test && target == pkg { // an external test package imports what it tests
		return nil
	}
	to := rowOf(target)
	switch {
	case to == nil:
		return fmt.Errorf("%s imports %s, which stands in no row of the table", pkg, target)
	case to == from:
		return nil // another package of the same row
	case slices.Contains(nobody, to.pkg):
		return fmt.Errorf("%s imports %s, which nobody may import", pkg, target)
	case slices.Contains(from.code, to.pkg), slices.Contains(from.code, anything):
		return nil
	case slices.Contains(from.code, public) && !strings.HasPrefix(to.pkg, "internal/"):
		return nil
	case test && (to.pkg == nightly || slices.Contains(from.tests, to.pkg)):
		return nil
	case test:
		return fmt.Errorf("a test of %s imports %s; it may import %s", pkg, target, list(slices.Concat(from.code, from.tests)))
	default:
		return fmt.Errorf("%s imports %s; it may import %s", pkg, target, list(from.code))
	}
}

func checkThirdParty(from *row, test bool, path string) error {
	if from.module || from.inner || isStandard(path) {
		return nil
	}
	allowed := thirdParty.code
	switch {
	case test:
		allowed = thirdParty.tests
	case slices.Contains(suites, from.pkg), from.pkg == sharedRules:
		allowed = thirdParty.suites
	}
	for _, module := range allowed {
		if within(path, module+"/...") {
			return nil
		}
	}
	return fmt.Errorf("%s imports %s; of other people's modules it may import %s", from.pkg, path, list(allowed))
}

// isStandard reports whether a path is of the standard library: those have no dot in
// their first element. cgo is not.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && path != "C"
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
