// Package sqltext has values of columns, and conditions, as statements of PostgreSQL have them.
package sqltext

import (
	"strconv"
	"strings"
)

// Parameter is the text of a parameter.
func Parameter(n int) string { return "$" + strconv.Itoa(n) }

// Assign returns the assignments of columns to parameters, of which first is the first.
func Assign(columns string, first int) string {
	names := strings.Split(columns, ", ")
	for i, name := range names {
		names[i] = name + " = " + Parameter(first+i)
	}
	return strings.Join(names, ", ")
}

// RowsOf is the FROM of a statement for many operations: the rows of the arguments, in order. n
// is the place.
func RowsOf(types []string, columns string) string {
	arrays := make([]string, len(types))
	for i, is := range types {
		arrays[i] = Parameter(i+1) + "::" + is + "[]"
	}
	return "WITH r AS MATERIALIZED (SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ") WITH ORDINALITY AS r (" + columns + ", n))"
}

// IsIn is a condition, that a column is among the values of its name that a WITH has
// returned. It is looked up there: a bare IN could become a join that compares each with each.
func IsIn(column, of string) string {
	return "(" + column + " IN (SELECT " + column + " FROM " + of + ")) IS TRUE"
}

// IsOne is a condition, that a column is equal to one of r. It is looked up by an index from
// one row of r to the next: with a bare = the planner would, where it believes a table empty
// whose index is full of rows that are gone, merge the whole index with r.
func IsOne(column, of string) string { return column + " = ANY (ARRAY[r." + of + "])" }
