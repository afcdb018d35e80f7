// Package ingest has the videos of datasets scored in the background, so that they are
// ready before anybody searches them.
//
//	scoring := ingest.New(nil)
//	env := mortise.Env{Observer: scoring.Observe}
//	service, err := audiosearch.New(backend, &audiosearch.Options{Env: env, ...})
//	...
//	go scoring.Run(ctx, service, "startup", []ingest.Dataset{{Organization: "acme", ID: "calls"}})
//
// It tries again while the storage or a scorer is away. It logs each video that cannot be
// searched, once, and tells how far it is.
package ingest
