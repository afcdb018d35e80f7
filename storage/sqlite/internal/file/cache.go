package file

// SQLite keeps a cache of pages for each connection. In the driver's build, those of all
// connections of the process share one bound, the sum of theirs, and one order of use,
// whichever files they are of. A transaction that comes to more pages than its connection
// may keep goes on with the others' pages. They fill up again, until the bound is met.
// From then on, a connection that has less than its share keeps no page beyond the moment
// in which it is used, and reads each of them again: two files that are loaded in turns
// came to that, and one of them read 13 pages for a value in place of 6.
//
// So the writer gives its pages back after such a transaction. That leaves all clean pages,
// but it had taken those of the others before, and readers begin afresh after each write.
const giveBack = "PRAGMA shrink_memory"

// manyPages is from how many rows at random places on a transaction is such a one. Each of
// them changes a page of its own in two b-trees, and a connection keeps some 480 pages.
const manyPages = 250

// Scatter notes rows at random places of the file.
func (t *Tx) Scatter(rows int) { t.scattered += rows }
