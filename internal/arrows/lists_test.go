package arrows

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// exported is one name that a package exports.
type exported struct {
	name string
	file string
}

// exportsOf returns the exported names of a package by their entries on a list: a constant
// whose type is exported by the same package has that type's entry, every other name its own.
func exportsOf(files []*sourceFile) map[string][]exported {
	entries := make(map[string][]exported)
	add := func(file *sourceFile, entry string, name *ast.Ident) {
		e := exported{name.Name, file.path}
		if name.IsExported() && !slices.Contains(entries[entry], e) {
			entries[entry] = append(entries[entry], e)
		}
	}
	var constants []func()
	for _, file := range files {
		if file.test {
			continue
		}
		for _, decl := range file.syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(file, decl.Name.Name, decl.Name)
				}
			case *ast.GenDecl:
				if decl.Tok == token.CONST {
					constants = append(constants, func() {
						eachConstant(decl, func(typ string, name *ast.Ident) {
							if len(entries[typ]) == 0 {
								typ = name.Name
							}
							add(file, typ, name)
						})
					})
					continue
				}
				for _, name := range declaredNames(decl) {
					add(file, name.Name, name)
				}
			}
		}
	}
	for _, later := range constants { // when all types are known
		later()
	}
	return entries
}

// declaredNames returns the names of a declaration of types or variables.
func declaredNames(decl *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, spec.Name)
		case *ast.ValueSpec:
			names = append(names, spec.Names...)
		}
	}
	return names
}

// eachConstant calls f with the constants of a block and their types, as far as written.
func eachConstant(decl *ast.GenDecl, f func(typ string, name *ast.Ident)) {
	var inherited *ast.ValueSpec // a line without a value repeats the one before
	for _, spec := range decl.Specs {
		spec := spec.(*ast.ValueSpec)
		if len(spec.Values) > 0 {
			inherited = spec
		}
		for i, name := range spec.Names {
			f(typeOfConstant(inherited, i), name)
		}
	}
}

// typeOfConstant returns the type that a constant is declared with or converted to, or "".
func typeOfConstant(spec *ast.ValueSpec, i int) string {
	expr := spec.Type
	if expr == nil && i < len(spec.Values) {
		if call, ok := spec.Values[i].(*ast.CallExpr); ok {
			expr = call.Fun
		}
	}
	if typ, ok := expr.(*ast.Ident); ok {
		return typ.Name
	}
	return ""
}

// readLists returns the entries of the two lists in a package's doc.go. known says what may
// stand there, and which entry it belongs to.
func readLists(pkg string, files []*sourceFile, known map[string]string) (lists map[string][]string, faults []string) {
	lists = make(map[string][]string)
	for _, heading := range []string{forApplications, forBackends} {
		links, found := linksUnder(packageDoc(pkg, files), heading)
		if !found {
			faults = append(faults, fmt.Sprintf(
				"%s/doc.go has no heading \"# %s\": end it with the list of those names", pkg, heading))
		}
		for _, link := range links {
			switch entry := known[link]; {
			case entry == "":
				faults = append(faults, fmt.Sprintf(
					"%s/doc.go links [%s] under %q: nothing of that name is exported there; "+
						"link what is, and anything else before the lists", pkg, link, heading))
			case entry != link:
				faults = append(faults, fmt.Sprintf(
					"%s/doc.go: [%s] under %q counts with its type: link [%s] alone", pkg, link, heading, entry))
			default:
				lists[heading] = append(lists[heading], link)
			}
		}
	}
	for _, entry := range lists[forApplications] {
		if slices.Contains(lists[forBackends], entry) {
			faults = append(faults, fmt.Sprintf(
				"%s/doc.go: [%s] is on both lists: what applications need is on theirs alone", pkg, entry))
		}
	}
	return lists, faults
}

// packageDoc returns the text of a package's doc.go.
func packageDoc(pkg string, files []*sourceFile) string {
	for _, file := range files {
		if file.path == path.Join(pkg, "doc.go") {
			return file.syntax.Doc.Text()
		}
	}
	return ""
}

// linksUnder returns what the text between a heading and the next one holds in brackets,
// each once, and whether the heading is there.
func linksUnder(text, heading string) (links []string, found bool) {
	// Whatever could be a link is one here, so that those that lead nowhere are seen.
	p := &comment.Parser{
		LookupPackage: func(name string) (string, bool) { return name, true },
		LookupSym:     func(recv, name string) bool { return true },
	}
	under := false
	for _, block := range p.Parse(text).Content {
		switch block := block.(type) {
		case *comment.Heading:
			under = textOf(block.Text) == heading
			found = found || under
		case *comment.Paragraph:
			if under {
				links = append(links, linksIn(block.Text)...)
			}
		case *comment.List:
			for _, item := range block.Items {
				for _, block := range item.Content {
					if p, ok := block.(*comment.Paragraph); ok && under {
						links = append(links, linksIn(p.Text)...)
					}
				}
			}
		}
	}
	slices.Sort(links)
	return slices.Compact(links), found
}

// linksIn returns what stands in brackets. What is no link, for a letter follows it say, has
// its brackets on.
func linksIn(text []comment.Text) []string {
	var links []string
	for _, part := range text {
		switch part := part.(type) {
		case *comment.DocLink:
			links = append(links, strings.TrimPrefix(textOf(part.Text), "*"))
		case comment.Plain:
			for _, after := range strings.Split(string(part), "[")[1:] {
				word, _, _ := strings.Cut(after, "]")
				links = append(links, "["+word+"]")
			}
		}
	}
	return links
}

func textOf(text []comment.Text) string {
	var b strings.Builder
	for _, part := range text {
		if plain, ok := part.(comment.Plain); ok {
			b.WriteString(string(plain))
		}
	}
	return b.String()
}

// mixedFiles returns the files of a package that have names of both lists.
func mixedFiles(pkg string, exports map[string][]exported, lists map[string][]string) []string {
	first := make(map[string]map[string]string) // by file and list: a name
	for _, heading := range []string{forApplications, forBackends} {
		for _, entry := range lists[heading] {
			for _, e := range exports[entry] {
				if first[e.file] == nil {
					first[e.file] = make(map[string]string)
				}
				if first[e.file][heading] == "" {
					first[e.file][heading] = e.name
				}
			}
		}
	}
	var faults []string
	for _, file := range sortedKeys(first) {
		if app, back := first[file][forApplications], first[file][forBackends]; app != "" && back != "" {
			faults = append(faults, fmt.Sprintf(
				"%s is for applications by %s and for backends by %s: move one of them into another file",
				file, app, back))
		}
	}
	return faults
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
