// Package httpadapter mounts the domain services on any net/http router.
//
// [NewTrigger] mounts the documentation triggers, [NewAuthMgmt] credentials and
// invitations, [NewVault] the vault, and [NewAudioSearch] the search for sounds. Each
// makes a [Handler], with routing, authentication, decoding, error bodies and an OpenAPI
// document of its own ([OpenAPI]):
//
//	auth := httpadapter.Bearer(httpadapter.TriggerKeys(service))
//	h, err := httpadapter.NewTrigger(service, auth, nil)
//	mux.Handle("/triggers", h)
//	mux.Handle("/triggers/", h)
//
// A service has the operations of its specification. Those that go beyond it are added by
// options, such as TriggerOptions.History, or by [NewTriggerBulk], which is for other callers
// than NewTrigger.
//
// Under a prefix a Handler is mounted with http.StripPrefix. [Join] puts several services
// under one prefix. A host that registers "GET /" on its own mux registers the routes one
// by one, from [Handler.Routes]. [NewReadiness] tells a proxy whether all services answer.
//
// # Who is asking
//
// The host plugs in an [Authenticator]: [Bearer] for tokens, [FirstOf] for several kinds
// of credentials, or anything that can make a [Principal] of a request. It runs before
// the body is read. A [CallerLimit] round it bounds the rate of each caller. The acceptance
// page and the token endpoint of [NewAuthMgmt] are public.
//
// What a caller may do is asked of [Options].Authorize, or else of the roles in
// Principal.Access, the same way for all services. The zero value of Access allows
// nothing. An Authenticator that knows no roles gives access.Full(), or access.APIKey() as
// [TriggerKeys] does. A host that shows values of a vault in its own handlers asks the
// roles by [AllowByAccess], as the vault's own handler does.
//
// # Requests and answers
//
// A request is checked in this order: authentication, the caller's rate, method, media
// type, size, the memory of the caller's requests, JSON, fields, authorization and
// existence, state, storage, queue. Problems of fields are answered as FastAPI with pydantic
// v2 does, all of them at once, at most 100. The vault has an error body of its own, with
// the same rules: its problems name the item and a reason.
//
// A body is declared as application/json, or as another type of application/ that ends in
// +json. Every answer has a header x-request-id: the caller's own, if it is 1 to 128
// letters, digits, dots, dashes and underscores, else a new UUID. [RequestID] finds it in
// the context of hooks and observers, and it stands in the log. An answer 503 has
// Retry-After, 5 seconds unless the host's own middleware has set another value. Every
// answer has Cache-Control: no-store and X-Content-Type-Options: nosniff. Its connection
// ends after a request in chunks: a proxy in front may have seen another end of the body.
//
// # Slow clients
//
// The bytes of bodies, and of answers over 16 KiB, count until the client has read the
// answer. The requests of an organization may hold 32 MiB of bodies and 16 MiB of answers,
// the requests of all organizations 128 MiB. One body and one answer of an organization
// pass in any case. A further request gets 429 with Retry-After, also in the middle of its
// body, and its connection ends. Bodies of logins have 256 KiB of an address, and 4 MiB in
// all. Lists are read and sent in steps of 50 items and 256 KiB. The http.Server bounds the
// time of a slow client, by ReadHeaderTimeout, WriteTimeout and IdleTimeout.
//
// # Hooks that panic
//
// A panic of a host's hook, here or in the service behind, goes on to the server: net/http
// recovers it, logs it and closes the connection. A panic of an Observer changes nothing.
// The Options of each service say which other panics it recovers.
package httpadapter
