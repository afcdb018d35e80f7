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
