// Package excerpt is for programs that show people what a search has found: it puts
// segments together that are one place to them, and makes what there is to see and to
// hear of a place.
//
//	places := excerpt.Merge(results)
//	sounds, err := excerpt.New(service, files, excerpt.Sounds(media), nil)
//	...
//	best := places[0].Best
//	wav, err := sounds.Make(ctx, "acme", dataset, best.VideoID, best.Start, best.End)
//
// An excerpt is a picture of a video, a part of its sound, or whatever a [Kind] makes
// of its file. A [Maker] has a few made at a time, whoever asks, and keeps the latest
// in memory. It knows nobody's rights: whoever asks it on behalf of somebody looks
// first whether they may see results of the dataset.
//
// A page that also offers the whole file asks [MediaType] what to serve it as, and
// [Unplayed] whether a browser can play it at all.
package excerpt
