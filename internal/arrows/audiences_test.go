package arrows

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A domain's doc.go ends with two lists, one for each audience. The first holds what a
// program that uses the service needs, the second what only authors of backends do.
const (
	forApplications = "For applications"
	forBackends     = "For backends"

	mostForApplications = 60 // entries, those of leaves for applications among them
	mostForBackends     = 40
	mostForAuthors      = 40 // entries of one leaf for authors
)

// audience says what a domain may export. A leaf is a package under it that it imports.
type audience struct {
	pkg     string
	most    int      // exported names, one by one, those of leaves aside
	leaves  []string // leaves for applications, whose names stand on the domain's list
	authors []string // leaves for authors of what plugs into the domain
}

var audiences = []audience{
	{pkg: "trigger", most: 74},
	{pkg: "vault", most: 100, authors: []string{"vault/format", "vault/keyring"}},
	{pkg: "authmgmt", most: 100, leaves: []string{"authmgmt/access"}},
	{pkg: "audiosearch", most: 100, leaves: []string{"audiosearch/metadata"}, authors: []string{"audiosearch/sound"}},
}

// Who reads a domain's documentation finds what they need.
func TestAudiences(t *testing.T) {
	tr := readTree(t)
	for _, a := range audiences {
		for _, fault := range a.faults(tr.packages) {
			t.Error(fault)
		}
	}
}

// faults returns what is wrong with the names of a domain, and what to do about it.
func (a audience) faults(packages map[string][]*sourceFile) []string {
	for _, pkg := range slices.Concat([]string{a.pkg}, a.leaves, a.authors) {
		if len(packages[pkg]) == 0 {
			return []string{fmt.Sprintf("%s is not there: write it, or change the table in audiences_test.go", pkg)}
		}
	}
	known := make(map[string]string) // what may stand on a list, to its entry
	for entry, names := range exportsOf(packages[a.pkg]) {
		for _, name := range names {
			known[name.name] = entry
		}
	}
	for _, leaf := range slices.Concat(a.leaves, a.authors) {
		for entry, names := range exportsOf(packages[leaf]) {
			for _, name := range names {
				known[path.Base(leaf)+"."+name.name] = path.Base(leaf) + "." + entry
			}
		}
	}
	lists, faults := readLists(a.pkg, packages[a.pkg], known)
	faults = append(faults, a.missing(packages, lists)...)
	faults = append(faults, a.tooMany(packages, lists)...)
	faults = append(faults, mixedFiles(a.pkg, exportsOf(packages[a.pkg]), lists)...)
	return append(faults, a.undeclared(packages[a.pkg])...)
}

// missing returns the names that are on no list.
func (a audience) missing(packages map[string][]*sourceFile, lists map[string][]string) []string {
	var faults []string
	for _, entry := range sortedKeys(exportsOf(packages[a.pkg])) {
		if !slices.Contains(lists[forApplications], entry) && !slices.Contains(lists[forBackends], entry) {
			faults = append(faults, fmt.Sprintf(
				"%s.%s is on no list: link it in %s/doc.go under %q or %q, or unexport it",
				a.pkg, entry, a.pkg, forApplications, forBackends))
		}
	}
	for _, leaf := range a.leaves {
		for _, entry := range sortedKeys(exportsOf(packages[leaf])) {
			if entry = path.Base(leaf) + "." + entry; !slices.Contains(lists[forApplications], entry) {
				faults = append(faults, fmt.Sprintf(
					"%s is for applications and not on their list: link it in %s/doc.go under %q, or unexport it",
					entry, a.pkg, forApplications))
			}
		}
	}
	return faults
}

// tooMany returns the lists and packages that are too long to be read.
func (a audience) tooMany(packages map[string][]*sourceFile, lists map[string][]string) []string {
	var faults []string
	count := func(what string, n, most int) {
		if n > most {
			faults = append(faults, fmt.Sprintf(
				"%s has %d, at most %d fit: unexport or merge some, or move an idea into a leaf", what, n, most))
		}
	}
	names := 0
	for _, same := range exportsOf(packages[a.pkg]) {
		names += len(same)
	}
	count(a.pkg+", by exported names,", names, a.most)
	count(fmt.Sprintf("the list %q of %s", forApplications, a.pkg), len(lists[forApplications]), mostForApplications)
	count(fmt.Sprintf("the list %q of %s", forBackends, a.pkg), len(lists[forBackends]), mostForBackends)
	for _, leaf := range a.authors {
		count(leaf+", by entries,", len(exportsOf(packages[leaf])), mostForAuthors)
	}
	return faults
}

// undeclared returns the packages under a domain that it imports and the table does not
// know. Its internal ones are for nobody else.
func (a audience) undeclared(files []*sourceFile) []string {
	var faults []string
	known := slices.Concat(a.leaves, a.authors)
	for _, file := range files {
		if file.test {
			continue
		}
		for _, imported := range file.imports() {
			pkg, isOurs := ours(imported)
			below, isBelow := strings.CutPrefix(pkg, a.pkg+"/")
			if isOurs && isBelow && !strings.HasPrefix(below, "internal/") && !slices.Contains(known, pkg) {
				faults = append(faults, fmt.Sprintf(
					"%s imports %s, which the table does not know: say in audiences_test.go whom it is for",
					file.path, pkg))
			}
		}
	}
	return faults
}

func TestAudiencesHaveTeeth(t *testing.T) {
	many := func(name string, n int) (source string, links string) {
		for i := range n {
			source += fmt.Sprintf("\nconst %s%d = %d", name, i, i)
			links += fmt.Sprintf(" [%s%d]", name, i)
		}
		return source, links
	}
	// As much as fits: beside New, Service, Kind and two names of a leaf on the one list,
	// Store and one name of the other leaf on the other list, and two in that leaf.
	apps, appLinks := many("App", mostForApplications-5)
	backs, backLinks := many("Back", mostForBackends-2)
	plugs, _ := many("Plug", mostForAuthors-2)
	good := map[string]string{
		"d/doc.go": "// Package d does.\n//\n" +
			"// # For applications\n//\n// The service: [New], [Service], [Kind], and [leaf.Map] by [leaf.Order].\n//\n" +
			"//" + appLinks + "\n//\n" +
			"// # For backends\n//\n// A [Store] answers with [plug.Key].\n//\n//  -" + backLinks + "\n//\n" +
			"// # More\n//\n// See [Service.Do] and [other.Thing].\npackage d\n",
		"d/service.go": `package d
import "github.com/seed-6363c74e/mortise/d/leaf"
type Service struct{}
func (*Service) Do() {}
func New() *Service { return nil }
type Kind string
const (
	KindA Kind = "a"
	KindB, KindC Kind = "b", "c"
	KindD = Kind("d")
)
type hidden leaf.Map` + apps,
		"d/store.go":      "package d\ntype Store interface{}" + backs,
		"d/d_test.go":     "package d\ntype Fake struct{}",
		"d/leaf/leaf.go":  "package leaf\ntype Map struct{}\ntype Order int\nconst (\nUp Order = iota\nDown\n)",
		"d/plug/plug.go":  "package plug\ntype Key struct{}\ntype Seal struct{}" + plugs,
		"d/other/more.go": "package other\ntype Thing struct{}",
	}
	exact := audience{pkg: "d", most: 101, leaves: []string{"d/leaf"}, authors: []string{"d/plug"}}

	type edit struct{ file, old, by string } // no old: by is added
	for _, c := range []struct {
		name  string
		table audience
		edits []edit
		fault string // none if it is empty
	}{
		{"as it should be", exact, nil, ""},

		{"on no list", exact, []edit{{"d/service.go", "", "\nvar ErrGone error"}},
			`d.ErrGone is on no list: link it in d/doc.go`},
		{"type on no list", exact, []edit{{"d/doc.go", ", [Kind]", ""}}, "d.Kind is on no list"},
		{"constant of another type", exact, []edit{{"d/service.go", "", "\nconst Most = 7"}}, "d.Most is on no list"},
		{"constant of a hidden type", exact, []edit{{"d/service.go", "", "\ntype k int\nconst KindE k = 7"}},
			"d.KindE is on no list"},
		{"on both lists", exact, []edit{{"d/doc.go", "A [Store]", "A [Store] for a [Service]"}},
			`[Service] is on both lists`},

		{"link to nothing", exact, []edit{{"d/doc.go", "A [Store]", "A [Store] and [Gone]"}},
			`[Gone] under "For backends": nothing of that name`},
		{"link to a hidden name", exact, []edit{{"d/doc.go", "A [Store]", "A [Store] and [hidden]"}},
			`[hidden] under "For backends": nothing`},
		{"link to a name of tests", exact, []edit{{"d/doc.go", "A [Store]", "A [Store] and [Fake]"}},
			`[Fake] under "For backends": nothing`},
		{"brackets that are no link", exact, []edit{{"d/doc.go", "A [Store]", "[Store]s"}},
			`[[Store]] under "For backends": nothing`},
		{"link to a method", exact, []edit{{"d/doc.go", "[New],", "[New], [Service.Do],"}},
			`[Service.Do] under "For applications": nothing`},
		{"link to another package", exact, []edit{{"d/doc.go", "[New],", "[New], [other.Thing],"}},
			`[other.Thing] under "For applications": nothing`},
		{"link to a constant of a type", exact, []edit{{"d/doc.go", "[Kind],", "[Kind], [KindB],"}},
			`[KindB] under "For applications" counts with its type: link [Kind] alone`},
		{"first list is missing", exact, []edit{{"d/doc.go", "# For applications", "# Parts"}},
			`d/doc.go has no heading "# For applications"`},
		{"second list is missing", exact, []edit{{"d/doc.go", "# For backends", "# Parts"}},
			`d/doc.go has no heading "# For backends"`},
		{"lists elsewhere", exact, []edit{{"d/doc.go", "package d", "\npackage d"}}, `d/doc.go has no heading`},

		{"first list too long", exact,
			[]edit{{"d/service.go", "", "\nconst Most = 7"}, {"d/doc.go", "[New],", "[New], [Most],"}},
			`the list "For applications" of d has 61, at most 60 fit`},
		{"first list too long by a leaf", exact,
			[]edit{{"d/leaf/leaf.go", "", "\nconst Most = 7"}, {"d/doc.go", "[New],", "[New], [leaf.Most],"}},
			`the list "For applications" of d has 61, at most 60 fit`},
		{"second list too long", exact, []edit{{"d/doc.go", "A [Store]", "A [Store] and a [plug.Seal]"}},
			`the list "For backends" of d has 41, at most 40 fit`},
		{"too many names", exact, []edit{{"d/service.go", "", "\nconst KindE Kind = `e`"}},
			"d, by exported names, has 102, at most 101 fit"},
		{"leaf for authors too long", exact, []edit{{"d/plug/plug.go", "", "\nfunc New() {}"}},
			"d/plug, by entries, has 41, at most 40 fit"},

		{"both audiences in a file", exact, []edit{{"d/store.go", "", "\nconst KindE Kind = `e`"}},
			"d/store.go is for applications by KindE and for backends by Back0: move one of them into another file"},

		{"name of a leaf on no list", exact, []edit{{"d/leaf/leaf.go", "", "\nfunc Parse() {}"}},
			`leaf.Parse is for applications and not on their list`},
		{"name of a leaf on the wrong list", exact, []edit{{"d/doc.go", "[leaf.Map] by ", ""}, {"d/doc.go", "A [S", "A [leaf.Map] [S"}},
			`leaf.Map is for applications and not on their list`},
		{"name of a leaf on both lists", exact, []edit{{"d/doc.go", "[New],", "[New], [plug.Key],"}},
			`[plug.Key] is on both lists`},
		{"leaf that the table does not know", audience{pkg: "d", most: 101, authors: exact.authors}, nil,
			"d/service.go imports d/leaf, which the table does not know"},
		{"leaf that is not there", audience{pkg: "d", most: 101, authors: []string{"d/nowhere"}}, nil,
			"d/nowhere is not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sources := maps.Clone(good)
			for _, e := range c.edits {
				require.Contains(t, sources[e.file], e.old)
				if e.old == "" {
					sources[e.file] += e.by
				} else {
					sources[e.file] = strings.Replace(sources[e.file], e.old, e.by, 1)
				}
			}
			faults := c.table.faults(parsePackages(t, sources))
			if c.fault == "" {
				require.Empty(t, faults)
				return
			}
			require.Contains(t, strings.Join(faults, "\n"), c.fault)
		})
	}
}

// parsePackages returns the packages of files that are given by path.
func parsePackages(t *testing.T, sources map[string]string) map[string][]*sourceFile {
	t.Helper()
	packages := make(map[string][]*sourceFile)
	for _, file := range sortedKeys(sources) {
		mode := parser.ParseComments | parser.SkipObjectResolution
		syntax, err := parser.ParseFile(token.NewFileSet(), file, sources[file], mode)
		require.NoError(t, err, file)
		dir := path.Dir(file)
		packages[dir] = append(packages[dir], &sourceFile{file, strings.HasSuffix(file, "_test.go"), syntax})
	}
	return packages
}
