package tables

import "strings"

// Kind is the meaning of a column.
type Kind int

const (
	Text   Kind = iota // a name, an ID, or a word
	Free               // a text that may hold U+0000, which is U+FFFD in the view
	JSON               // NULL for none; the escape \u0000 is \ufffd in the view
	UUID               // lower case, with its four hyphens
	Time               // UTC; NULL for none
	Number             // an integer
	Bool
)

// Column is a column of a view.
type Column struct {
	Name string
	Is   Kind
	From string // the expression; "": the column of its name of the table t
}

// View is a view of a domain, or of the queue ("jobs").
type View struct {
	Domain, Name string
	Columns      []Column
	From         string // the text behind FROM; it calls the table t
}

// Dialect is how a database writes the parts of a view.
type Dialect struct {
	Prefix  string            // of the names of views
	As      map[Kind]string   // expressions, with {} for the column of the table; none: the column itself
	From    map[string]string // by the name of a view, where it is not View.From
	Columns map[string]string // by the names of a view and a column with a dot, where it is not Column.From
}

// SQL returns the statement that makes the view.
func (v *View) SQL(d *Dialect) string {
	columns := make([]string, len(v.Columns))
	for i, c := range v.Columns {
		from := d.Columns[v.Name+"."+c.Name]
		if from == "" {
			from = c.From
		}
		if from == "" {
			from = "t." + c.Name
		}
		if as := d.As[c.Is]; as != "" {
			from = strings.ReplaceAll(as, "{}", from)
		}
		columns[i] = "\t" + from + " AS " + c.Name
	}
	from := d.From[v.Name]
	if from == "" {
		from = v.From
	}
	return "CREATE VIEW " + d.Prefix + v.Name + " AS SELECT\n" + strings.Join(columns, ",\n") + "\nFROM " + from + ";\n"
}

// Of returns the statements that make the views of a domain.
func Of(domain string, d *Dialect) string {
	var all strings.Builder
	for i := range Views {
		if Views[i].Domain == domain {
			all.WriteString("\n" + Views[i].SQL(d))
		}
	}
	return all.String()
}

func columns(is Kind, names ...string) []Column {
	all := make([]Column, len(names))
	for i, name := range names {
		all[i] = Column{Name: name, Is: is}
	}
	return all
}
