// Package httpadapter mounts the domain services on any net/http router.
//
// Each service becomes a [Handler] with routing, authentication, decoding, error bodies and OpenAPI document of its own:
//
//	h, err := httpadapter.NewTrigger(service, httpadapter.Bearer(httpadapter.TriggerKeys(service)), nil)
//	mux.Handle("/triggers", h)
//	mux.Handle("/triggers/", h)
//
// Under a prefix it is mounted with http.StripPrefix; several services under one prefix are put together by [Join]. A host that
// registers "GET /" on its own mux registers the routes one by one, from [Handler.Routes].
//
// Who is asking is decided by the [Authenticator], which the host plugs in: [Bearer] for
// tokens, [FirstOf] for several kinds of credentials, or anything that can make a
// [Principal] of a request. It runs before the body is read. What they may do is asked of
// [Options].Authorize, or else of the roles in Principal.Access, the same way for all
// services. The zero value of Access allows nothing: an Authenticator that knows no roles
// gives authmgmt.FullAccess(), as [TriggerKeys] does. The acceptance page and the token
// endpoint of [NewAuthMgmt] are public.
//
// A host that shows values of a vault in its own handlers asks the roles by
// [AllowByAccess], as the vault's own handler does.
//
// A hook of the host's that panics is logged with its stack and answered with 503, or
// changes nothing if no answer of it was needed, here as in the services behind: see
// [Options]. A panic of a handler that Options.Wrap put round an operation is the host's
// own.
//
// [NewTrigger] mounts the documentation triggers, [NewAuthMgmt] credentials and invitations, [NewVault] the vault, [NewAudioSearch] the search for
// sounds. What goes beyond their documents is mounted by options.
//
// A request is checked in this order: authentication, method, media type, size, JSON, fields, authorization and existence, state,
// storage, queue. Problems of fields are answered as FastAPI with pydantic v2 does, all of them at once, at most 100. The vault has an error
// body of its own, with the same rules: its problems name the item and a reason.
//
// A body is declared as application/json, or as another type of application/ that ends in
// +json. Every answer has a header x-request-id: the caller's own, if it is 1 to 128
// letters, digits, dots, dashes and underscores, else a new UUID. [RequestID] finds it in
// the context of hooks and observers, and it stands in the log. An answer 503 has
// Retry-After, 5 seconds unless the host's own middleware has set another value.
package httpadapter
