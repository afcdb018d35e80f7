package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// object is a row of sqlite_schema: a table, an index, a view or a trigger. The names are in
// lower case, since SQLite does not tell the cases apart.
type object struct{ kind, name, table, sql string }

// objects returns what a file is made of, without SQLite's own.
func objects(ctx context.Context, c *conn) (found []object, err error) {
	const all = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
	err = c.query(ctx, all, nil, func(r *row) error {
		found = append(found, object{r.text(0), strings.ToLower(r.text(1)), strings.ToLower(r.text(2)), r.text(3)})
		return nil
	})
	return found, err
}

// check refuses a file that has tables of another version or of another program, or in which
// a thing has a name of the blueprint's without being as that makes it. fresh reports that it
// has nothing of the blueprint's: it is empty, or the host's and to be adopted.
func (b *blueprint) check(ctx context.Context, c *conn, adopt bool) (fresh bool, err error) {
	want, err := b.objects()
	if err != nil {
		return false, err
	}
	found, err := objects(ctx, c)
	if err != nil {
		return false, err
	}
	named := func(o object) bool { return want[o.name].name != "" }
	if !slices.ContainsFunc(found, named) {
		if len(found) > 0 && !adopt {
			return false, fmt.Errorf("%w: it is a database of another program; give this one a file of its own, or set Options.Adopt", ErrUnusable)
		}
		return true, nil
	}
	var notes []note
	isNote := func(o object) bool { return o.kind == "table" && (o.name == scriptsTable || o.name == versionsTable) }
	if slices.Contains(found, want[scriptsTable]) {
		notes, err = readNotes(ctx, c)
	} else if !slices.ContainsFunc(found, isNote) { // the host's, which has a name that is in the way
		err = compareNamed(found, want)
	}
	if err == nil {
		err = b.checkNotes(notes)
	}
	if err == nil {
		err = compare(found, want)
	}
	return false, err
}

// compareNamed refuses an object that has the name of a wanted one and differs from it.
func compareNamed(found []object, want map[string]object) error {
	for _, o := range found {
		if w, named := want[o.name]; named && o != w {
			return changed("the %s %s is not as Mortise made it", o.kind, o.name)
		}
	}
	return nil
}

// compare refuses a file that lacks a wanted object, or has another one of its name, or a
// trigger of another program on a wanted table: it would run unseen with the statements of
// this package. Other tables, views and indexes are the host's, and so are triggers on its
// own tables.
func compare(found []object, want map[string]object) error {
	if err := compareNamed(found, want); err != nil {
		return err
	}
	there := make(map[string]bool, len(found))
	for _, o := range found {
		there[o.name] = true
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
