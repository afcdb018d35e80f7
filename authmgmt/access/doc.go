// Package access says what may be done with what, and by whom. It is for applications:
// for those who authenticate callers, give out roles, or ask in handlers of their own
// what a caller may do. Package authmgmt keeps the roles of credentials, and package
// httpadapter asks before every operation.
//
// A [Catalogue] says what each role allows: [DefaultCatalogue], or one of the host's own,
// made by [NewCatalogue]. A [Role] assigns one of its roles, to the whole organization,
// to all resources of a type, or to one resource. [Catalogue.Access] makes of assignments
// an [Access], which answers for every [Action] on every [Resource]:
//
//	caller := catalogue.Access(access.Role{ID: "viewer", Resource: access.Dataset})
//	caller.Allows(access.SearchSound, access.Resource{Type: access.Dataset, ID: "d1"})
//
// The zero Access allows nothing. [Full] allows everything, and is not a role: a stored
// credential without roles has it ([Catalogue.Stored]). Actions, types of resources and
// roles have the names that they have over HTTP and in audit trails.
package access
