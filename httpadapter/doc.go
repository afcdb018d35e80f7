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
// Who is asking is decided by the [Authenticator], which the host plugs in: [Bearer] for tokens, or anything that can make a
// [Principal] of a request. It runs before the body is read. What he may do is asked of [Options].Authorize, or of the roles in
// Principal.Access; the triggers ask no roles. The acceptance page and the token endpoint of [NewAuthMgmt] are public.
//
// [NewTrigger] mounts the documentation triggers, [NewAuthMgmt] credentials and invitations, [NewVault] the vault, [NewAudioSearch] the search for
// sounds. What goes beyond their documents is mounted by options.
//
// A request is checked in this order: authentication, method, media type, size, JSON, fields, authorization and existence, state,
// storage, queue. Problems of fields are answered as FastAPI with pydantic v2 does, all of them at once, at most 100. The vault has an error
// body of its own, with the same rules: its problems name the item and a reason.
package httpadapter
