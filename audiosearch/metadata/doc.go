// Package metadata is what is known of the videos of package audiosearch, and how searches
// choose by it. It is for applications that fill datasets, or that search them.
//
// A video has a [Map]: JSON scalars by name. A [Scalar] keeps a number as it was written.
// A search has filters, all of which a video has to pass: a [Filter] compares the value
// under one key as text or as a number. A service asks them by itself. [Filter.Check] is
// for programs that take filters from others, and [Filter.Predicate] for stores.
//
// The text of errors begins with "audiosearch: ", as that of the services does.
package metadata
