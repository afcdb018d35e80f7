package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Shared is a statement that the operations of a group share: it is sent once for all, with
// a row of arguments of each, which costs the server half of what it costs to begin and end
// as many statements. Both texts return a row for each operation that has changed something:
// its place among them, from 1 on, and a boolean.
type Shared struct {
	One   string   // for one operation
	Many  string   // for several: each argument is an array
	Types []string // of the arguments
}

// sharing are the operations of a group that share a statement.
type sharing struct {
	by   *Shared
	rows [][]any
	each []func(bool)
}

// Share adds a row of arguments to a statement that runs behind all others of the group.
// each is called if that returns a row for it, with the boolean.
func (b *Batch) Share(by *Shared, each func(is bool), args ...any) {
	for _, s := range *b.shared {
		if s.by == by {
			s.rows, s.each = append(s.rows, args), append(s.each, each)
			return
		}
	}
	*b.shared = append(*b.shared, &sharing{by, [][]any{args}, []func(bool){each}})
}

// add adds the statement to a pipeline.
func (s *sharing) add(db *DB, b *pgx.Batch) {
	text, args := s.by.One, slices.Clone(s.rows[0])
	for i, arg := range args {
		if id, is := arg.(uuid.UUID); is { // of which pgx would make a text first
			args[i] = pgtype.UUID{Bytes: id, Valid: true}
		}
	}
	if len(s.rows) > 1 {
		text, args = s.by.Many, make([]any, len(s.by.Types))
		for i, is := range s.by.Types {
			args[i] = column(is, s.rows, i)
		}
	}
	b.Queue(db.sql(text), args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var n int64
			var is bool
			if err := rows.Scan(&n, &is); err != nil {
				return err
			}
			s.each[n-1](is)
		}
		return rows.Err()
	})
}

// column returns the values of an argument as an array, of a type that pgx knows also where
// it goes by the types of Go alone. What is nil is NULL, if the type is one that may be.
func column(is string, rows [][]any, i int) any {
	switch is {
	case "bytea":
		return columnOf[[]byte](rows, i)
	case "text":
		column := make([]pgtype.Text, len(rows))
		for n, row := range rows {
			if column[n].String, column[n].Valid = row[i].(string); !column[n].Valid && row[i] != nil {
				panic(fmt.Sprintf("postgres: a text is a %T", row[i]))
			}
		}
		return column
	case "smallint":
		return columnOf[int16](rows, i)
	case "bigint":
		return columnOf[int64](rows, i)
	case "timestamptz":
		column := make([]pgtype.Timestamptz, len(rows))
		for n, row := range rows {
			column[n].Time, column[n].Valid = row[i].(time.Time)
		}
		return column
	case "uuid":
		column := make([]pgtype.UUID, len(rows))
		for n, row := range rows {
			column[n].Bytes, column[n].Valid = row[i].(uuid.UUID)
		}
		return column
	}
	panic("postgres: no arrays of " + is)
}

func columnOf[T any](rows [][]any, i int) []T {
	column := make([]T, len(rows))
	for n, row := range rows {
		v, is := row[i].(T)
		if !is && row[i] != nil {
			panic(fmt.Sprintf("postgres: an argument is a %T", row[i]))
		}
		column[n] = v
	}
	return column
}
