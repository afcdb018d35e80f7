// Package audiosearchdb keeps package audiosearch in a file of SQLite's.
package audiosearchdb

// A map for those who work on this package.
//
// # Where the scores of audiosearch are
//
// Read in this order: layout.go, scores_put.go, view.go, view_blocks.go, search.go,
// compact_pack.go. The rest explains itself after that.
//
//	dataset - video - scoring, one by each model: places = (block 8, part 1), ...
//	    |
//	    +---- model, a row for each shelf
//	            +---- block 7, a segment: windows of one video, loose
//	            +---- block 8, packed: 4334 windows of many videos
//	                    layout:  part 0            part 1              part 2
//	                             video 1, 0-899    video 2, 0-1023     video 9, 0-2409
//	                    dead:                                          part 2
//	                    maxima:  of class 0, of class 1, ...
//	                    chunks:  4334 scores of class 0
//	                             4334 scores of class 1, ...
//
//   - window: what a model scores at once; a score is two bytes. vocabulary: a list of
//     classes, stored once for all datasets. shelf: at most 1024 (blockRoom) of them. A
//     model has a row of audiosearch_models for each shelf; all below is of one such row.
//   - block: the scores of some windows. It is a segment at first: at most 1024 windows
//     (segmentWindows) of a video that was scored just now, all classes in one BLOB. It
//     is packed later: at most 4334 windows (chunkWindows) of any videos, and a BLOB for
//     each class, a chunk. The chunks of a block stand side by side. A search of one
//     class reads that class's alone, and no chunk whose maximum is too small.
//   - layout: whose windows a block has, as parts. place: in which block and part windows
//     of a video are. The two say the same from both ends. dead: a part of a packed block
//     whose scores were replaced or deleted. A segment is removed instead.
//   - loose: a block that is to be packed with others, because it is a segment, or not
//     full, or more than half dead. packing: the step of Compact that makes one full
//     block of loose ones, and another one of what is left.
//   - unfinished: a scoring that comes in parts (audiosearch.Part), over hours. These
//     stand as segments without a block, which searches do not see. PutScoring, at the
//     end, makes blocks of them. So "part" has two meanings: this one, and that of a
//     layout.
//   - change: what a revision of a dataset was about, as a range of videos or of blocks.
//
// What a process keeps in memory for searches:
//
//   - view: a dataset at one revision. It has the metadata (columnar.Columns) by row,
//     which is a small number of each video, and the blocks of each row of a model
//     (scored) with their maxima, but no scores. A search first brings it to the present
//     revision, by the changes since its own.
//   - piece: a part in a view that is not dead, as columnar takes it. spot: the same from
//     the video's end: in which block it is, and where.
//   - view cache: the views of the datasets that were searched last, within
//     sqlite.Options.AudioSearchMemory. view lock: many searches read a view, or one updates it.
//
// What a run found stands apart, in result sets: the results (results_put.go), and the
// videos as they were (results_videos.go), whose metadata is stored once for all runs of
// an organization.
