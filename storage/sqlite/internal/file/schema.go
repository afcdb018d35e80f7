package file

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// object is a row of sqlite_schema: a table, an index, a view or a trigger. Its kind and names
// are as SQLite reads them: it does not tell the cases apart, and stops at U+0000. Its text has
// no quotes round names, which SQLite adds when a table is renamed, and renamed back.
type object struct{ kind, name, table, sql string }

// objects returns the tables, indexes, views and triggers of a file, without the tables and
// indexes that SQLite makes by itself. It makes no trigger.
func objects(ctx context.Context, c *Conn) (found []object, err error) {
	const all = "SELECT type, name, tbl_name, sql FROM sqlite_schema" +
		" WHERE NOT (type IN ('table', 'index') AND name LIKE 'sqlite\\_%' ESCAPE '\\') ORDER BY name"
	read := func(name string) string {
		name, _, _ = strings.Cut(name, "\x00")
		return strings.ToLower(name)
	}
	err = c.Query(ctx, all, nil, func(r *Row) error {
		found = append(found, object{read(r.Text(0)), read(r.Text(1)), read(r.Text(2)), quoted.ReplaceAllString(r.Text(3), "$1")})
		return nil
	})
	return found, err
}

var quoted = regexp.MustCompile(`"([a-z_]+)"`)

// check refuses a file that has tables of another version or of another program, or in which
// an object has a name from the blueprint and differs from the blueprint's object. missing are
// the scripts that the file has nothing of: all, if it is empty, or the host's and to be
// adopted.
func (b *blueprint) check(ctx context.Context, c *Conn, adopt bool) (missing []script, err error) {
	all, err := b.objects()
	if err != nil {
		return nil, err
	}
	want := maps.Clone(all)
	found, err := objects(ctx, c)
	if err != nil {
		return nil, err
	}
	named := func(o object) bool { return want[o.name].name != "" }
	if !slices.ContainsFunc(found, named) {
		if len(found) > 0 && !adopt {
			return nil, fmt.Errorf("%w: it is a database of another program; give this one a file of its own, or set Options.Adopt", ErrUnusable)
		}
		return b.scripts, nil
	}
	var notes []note
	isNote := func(o object) bool { return o.kind == "table" && (o.name == scriptsTable || o.name == versionsTable) }
	if slices.Contains(found, want[scriptsTable]) {
		if notes, err = readNotes(ctx, c); err == nil {
			missing, err = b.missing(found, notes, want)
		}
	} else if !slices.ContainsFunc(found, isNote) {
		err = inTheWay(found, want)
	}
	if err == nil {
		err = b.checkNotes(notes, missing)
	}
	if err == nil {
		err = compare(found, want)
	}
	return missing, err
}

// missing returns the scripts of which a file with notes has no note and no object, and takes
// the objects of these scripts out of want.
func (b *blueprint) missing(found []object, notes []note, want map[string]object) (missing []script, err error) {
	for _, s := range b.scripts {
		if slices.ContainsFunc(notes, func(n note) bool { return n.domain == s.domain }) {
			continue
		}
		made, err := newBlueprint(s).objects()
		if err != nil {
			return nil, err
		}
		delete(made, scriptsTable)
		if slices.ContainsFunc(found, func(o object) bool { return made[o.name].name != "" }) {
			continue // without its note it is another version's
		}
		missing = append(missing, s)
		for name := range made {
			delete(want, name)
		}
	}
	return missing, nil
}

// inTheWay refuses a file without notes in which something has a wanted name and is not as
// wanted: another program has changed it, if the file has a wanted object, and else made it.
func inTheWay(found []object, want map[string]object) error {
	var first object
	ours := false
	for _, o := range found {
		switch w, named := want[o.name]; {
		case named && o == w:
			ours = true
		case named && first.name == "":
			first = o
		}
	}
	switch {
	case first.name == "":
		return nil
	case ours:
		return changed("the %s %s is not as Mortise made it", first.kind, first.name)
	}
	return fmt.Errorf("%w: the %s %s has a name of Mortise's: rename it, or give Mortise a file of its own",
		ErrUnusable, first.kind, first.name)
}

// compare refuses a file that lacks a wanted object, or has another one of its name, or a
// trigger of another program on a wanted table: it would run unseen with the statements of
// this package. Other tables, views and indexes are the host's, and so are triggers on its
// own tables.
func compare(found []object, want map[string]object) error {
	there := make(map[string]bool, len(found))
	for _, o := range found {
		there[o.name] = true
		if w, named := want[o.name]; named && o != w {
			return changed("the %s %s is not as Mortise made it", o.kind, o.name)
		}
		if o.kind == "trigger" && want[o.table].name != "" && want[o.name].name == "" {
			return changed("the trigger %s on the table %s is not Mortise's", o.name, o.table)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !there[name] {
			return changed("the %s %s is missing", want[name].kind, name)
		}
	}
	return nil
}

// changed is the error for a file that another program has changed.
func changed(format string, args ...any) error {
	return fmt.Errorf("%w: %s; undo that change, or restore a backup", ErrUnusable, fmt.Sprintf(format, args...))
}
