// Package columnar is what a backend of audiosearch builds a search on: the metadata of a
// dataset's videos, held so that filters are fast ([Columns], [Selection]); the ranking
// of 16-bit scores ([Ranking]); and scores in memory ([Scores]).
//
// A backend gives each video of a dataset a row: a small number, that of a deleted video
// again to a new one. A backend that keeps its scores elsewhere stores chunks, in the
// form of [Pack], and offers them to a Ranking piece by piece ([Ranking.OfferChunk]). It
// may leave out a chunk whose maximum is below [Ranking.Floor].
//
// What changes a value must not run beside anything else that uses it. Readers may run
// side by side.
package columnar

// A map for those who work on this package. Read ranking.go first, then columns.go and
// selection.go; scores.go and its scans are for storage/memory alone.
//
//	filters --> key filters --> conditions --> Selection --+
//	              |                ^                       |
//	              +--> text search-+                       v
//	                                     scan or OfferChunk --> Ranking --> page of Hits
//	            chunks of scores (a file's, or a table's) --+
//
//   - row: the number of a video in its dataset. rowset.go: a set of rows (rowSet), in
//     blocks of 65536 rows, each a list or a bitmap, as Roaring bitmaps are.
//   - column: the values of one metadata key (columns.go, dictionary.go). code: the
//     number of a distinct value. cell: the code that a video has under a key. holders:
//     the rows that have a value. Numbers stand in order, those that few videos share row
//     by row (number_order.go).
//   - key filters: the filters of one key, put together, so that each value is looked at
//     once for all of them (key_filters.go). condition: what they come down to, as codes
//     (conditions.go). Only filters for a part of a text look at all values, or at those
//     of the rows that are left (text_search.go); or, to rank, at those of videos with
//     good scores (text_late.go).
//   - Selection: the rows that pass, as conditions, the most selective first, or as a set
//     once one is needed (selection.go). What takes less is reckoned in nanoseconds
//     (selection_costs.go). kept sets: those of filters that come again (kept_sets.go).
//   - window: what has one score of each class. Hit: a window found. piece: consecutive
//     windows of one video in a chunk (offer_chunks.go).
//   - Ranking: the page that is wanted, from windows offered in any order. floor: a score
//     below which none matters any more. pass: one offer of all windows; a page far down
//     takes several, since only so many candidates are held (ranking_candidates.go).
//
// Scores in memory:
//
//   - table: the scores of videos that were scored with the same classes, window by
//     window. chunk: 65536 windows of a table, class by class, and the maxima of each 64,
//     which are a block. span: a video in a table (table.go). peak: which window of a block
//     has the maximum, and how much less the others have (peaks.go).
//   - place: where a video's windows are, by row. A group of 65536 rows is regular if
//     their videos have equally many windows in the order of the rows: then one place
//     says all (places.go).
//   - table scan: it looks at the scores first, and asks of good ones whether they are
//     selected (scan_table.go). Where a block has one good window, its peak says all. row
//     scan: it looks up the selected videos, and then their scores (scan_scores.go;
//     scan_runs.go where they stand side by side). Selection.few says which. prime: a count
//     of the first windows that raises the floor before a row scan begins (scan_prime.go).
//     guess: a floor to begin with (scan_guess.go).
//   - turn: a place among the searches of all organizations; whoever has one for long
//     gives way to the others (turn.go).
