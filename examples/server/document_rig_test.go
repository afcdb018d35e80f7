package main

const docSecret = "cs-0123456789abcdef0123456789abcdef"

// vaultWith returns a document with a vault on line 2, of one table with these columns,
// and records of it on line 3.
func vaultWith(columns, records string) string {
	return `{"organizations":[{"id":"acme","vaults":[{"id":"v1",` + "\n" +
		`"tables":[{"name":"persons","columns":[` + columns + `]}],` + "\n" +
		`"records":[` + records + `]}]}]}`
}

// Columns of persons.
const (
	emailColumn = `{"name":"email","tokenization":"deterministic","column_group":"emails","format":"uuid"}`
	cardColumn  = `{"name":"card","tokenization":"deterministic","format":"digits"}`
	phoneColumn = `{"name":"phone","tokenization":"random"}`
	noteColumn  = `{"name":"note","tokenization":"none"}`
)

// allColumns are those, and another one of the emails' group.
const allColumns = emailColumn + "," + cardColumn + "," + phoneColumn + "," + noteColumn +
	`,{"name":"work","tokenization":"deterministic","column_group":"emails","format":"uuid"}`

// record returns a record of persons with these fields.
func record(fields string) string { return `{"table":"persons","fields":{` + fields + `}}` }

func clientWith(roles string) string {
	return `{"organizations":[{"id":"a","clients":[{"client_id":"c","client_secret":"` + docSecret + `","name":"n","roles":` + roles + `}]}]}`
}
