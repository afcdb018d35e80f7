// Package folder has the videos of a dataset in a folder: [Open] finds their bytes, for
// [audiosearch.Options], and [Sync] fills the catalog from the folder and keeps it in line
// with it. Both are for applications, and neither needs the other: Open works with any
// catalog, and Sync with any [io/fs.FS].
package folder
