// Package provision makes what the services hold follow a JSON document: organizations
// with their API keys, access tokens, clients, invitations, vaults and datasets. It is
// for programs whose operators write such a document instead of calling the services.
//
//	doc, err := provision.Open("acme.json", os.Environ())
//	...
//	err = doc.Rehearse(ctx, empty) // services like those below that hold nothing
//	err = doc.Apply(ctx, services, empty)
//
// A document is applied at every start. What is missing is created. What exists is
// neither changed nor revived, but for setup_complete, rbac_enabled, the readiness of
// collections and "revoked": true, which always follow the document. What is taken out
// of the document stays, and what was deleted stays so, but for datasets and their videos.
// Several processes may apply the same document at once.
//
// # The document
//
//	{"organizations": [{
//	  "id": "acme", "setup_complete": true, "rbac_enabled": true,
//	  "api_keys": [{"key": SECRET, "revoked": false}],
//	  "access_tokens": [{"token": SECRET, "subject": "ops", "roles": [ROLE], "revoked": false}],
//	  "doc_collections": [{"id": "7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11", "ready": true}],
//	  "vaults": [{"id": "v1",
//	    "tables": [{"name": "persons", "columns": [
//	      {"name": "email", "tokenization": "deterministic",
//	       "column_group": "emails", "format": "uuid"}]}],
//	    "records": [{"table": "persons", "fields": {"email": "ada@example.com"}}]}],
//	  "clients": [{"client_id": "c1", "client_secret": SECRET, "name": "ci", "roles": [ROLE]}],
//	  "invitations": [{"invitation_id": "inv1", "inviter": {"name": "Grace"}, "expires_in": "168h",
//	    "invitee": {"email": "alan@example.com", "name": "Alan", "roles": [ROLE]}}],
//	  "datasets": [{"id": "d1", "videos": [
//	    {"id": "clip-1", "path": "media/clip-1.mp4", "metadata": {"show": "news", "season": 3}}]}]
//	}]}
//
// Lists and booleans may be left out. A ROLE has role_id, and may have resource and
// resource_instance; no roles are full access. A SECRET is a string, or {"env":
// "NAME"}, or {"file": "PATH"} below the document's folder. A path of a video is below
// that folder, too. Keys that are not known are refused, and so is what two readers
// could understand differently, such as a key that stands twice.
//
// A record is inserted into its vault once. Which records were inserted is remembered
// in a vault of an organization of its own, "\x01mortise", as digests that say nothing
// to anybody without the keys of the vaults. No document can name that organization,
// and no credentials reach it.
//
// # What is wrong with a document
//
// It is an [*Error] on one line, which says where each mistake is, by line and column,
// and never repeats a value, which might be a secret. Whatever a service refuses is
// found by a rehearsal before anything is stored. What is left are contradictions to
// what is stored; those are looked for before anything is changed, but for two that are
// rare, after which the document can be applied again once it is corrected: a column
// that comes back into a group that it had tokens without, and a value for which a
// format has no token left.
package provision
