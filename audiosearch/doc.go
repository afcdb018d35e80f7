// Package audiosearch finds sounds in a collection of videos: which segments of which videos sound most like a dog, a siren, a dial tone.
//
// Videos stand in datasets, with metadata. A [Scorer] gives each segment of a video a score for each of the sound classes that it
// knows, out of the 527 of AudioSet. That happens once for each file and model. A search then ranks the stored scores of one class over the
// videos whose metadata passes all filters.
//
// [New] makes a [Service] of a store, a queue and a scorer. [Service.Start] begins a search as a run, which a [Worker] carries out; it scores
// first what has no scores yet. [Service.Status] tells how far it is and [Service.Results] what it found. [Service.Search] does the same at once,
// in process.
//
// Package signal has a scorer that needs no model, package wav reads sound files in Go, and package ffmpeg everything else.
package audiosearch
