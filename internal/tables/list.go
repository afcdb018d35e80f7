package tables

import "slices"

// Views are all views. They leave out deleted objects whose rows are still there; queue has the
// jobs of such objects, and vault_history their tokens.
var Views = []View{
	{"trigger", "events", slices.Concat(
		columns(UUID, "id"), columns(Text, "organization"),
		[]Column{{"status", Text, "CASE t.status WHEN 0 THEN 'received' WHEN 1 THEN 'processing' WHEN 2 THEN 'completed' WHEN 3 THEN 'failed'" +
			" WHEN 4 THEN 'cancelled' WHEN 5 THEN 'superseded' END"}},
		columns(Text, "source"), []Column{{"submitted_by", Text, "nullif(t.submitted_by, '')"}},
		columns(Free, "instructions"), columns(JSON, "context"), columns(UUID, "collection"),
		columns(Time, "submitted_at", "started_at", "finished_at", "due_at"), columns(Number, "attempts"),
		[]Column{{"last_error", Free, "nullif(t.last_error, '')"}}, columns(JSON, "failures"),
		columns(Free, "outcome_summary"), columns(JSON, "outcome_data"),
		columns(Text, "idempotency_key", "supersede_key"), columns(UUID, "superseded_by"),
	), "trigger_events AS t WHERE " + notIn("trigger_deleted", "t.organization")},

	{"trigger", "api_keys", slices.Concat(
		columns(UUID, "id"), columns(Text, "organization", "name"), columns(Time, "created_at", "revoked_at", "last_used_at"),
	), "trigger_api_keys AS t WHERE " + notIn("trigger_deleted", "t.organization")},

	{"jobs", "queue", slices.Concat(
		columns(Text, "kind", "organization", "id"), columns(Time, "claimable_at"),
		[]Column{{"held", Bool, "t.token IS NOT NULL"}}, columns(Number, "deliveries"), columns(Bool, "dead"),
	), "jobs AS t"},

	{"authmgmt", "clients", slices.Concat(
		columns(Text, "organization", "id", "name", "roles"), columns(Time, "created_at", "updated_at"),
	), "authmgmt_clients AS t WHERE t.deleted_at IS NULL AND " + notIn("authmgmt_deleted", "t.organization")},

	{"authmgmt", "client_secrets", slices.Concat(
		columns(UUID, "id"), columns(Text, "organization", "client"), columns(Time, "created_at", "last_used_at", "expires_at"),
	), "authmgmt_secrets AS t WHERE " + notIn("authmgmt_deleted", "t.organization")},

	{"authmgmt", "access_tokens", slices.Concat(
		columns(UUID, "id"), columns(Text, "organization", "subject", "client", "roles"), columns(Time, "created_at", "expires_at", "revoked_at"),
	), "authmgmt_tokens AS t WHERE " + notIn("authmgmt_deleted", "t.organization")},

	{"authmgmt", "invitations", slices.Concat(
		columns(Text, "organization", "id", "email", "name", "roles", "inviter", "invited_by"), columns(Number, "generation"),
		columns(Time, "created_at", "expires_at", "cancelled_at", "accepted_at"), []Column{{"accepted_by", Text, "nullif(t.accepted_by, '')"}},
		columns(Time, "granted_at"),
	), "authmgmt_invitations AS t WHERE " + notIn("authmgmt_deleted", "t.organization")},

	{"authmgmt", "audit", slices.Concat(
		columns(UUID, "id"), columns(Text, "organization"), columns(Time, "at"), columns(Text, "kind", "actor", "target"), columns(JSON, "before", "after"),
	), "authmgmt_audit AS t LEFT JOIN authmgmt_deleted AS d ON d.organization = t.organization WHERE d.organization IS NULL OR d.event = t.seq"},

	{"vault", "vaults", slices.Concat(
		columns(Text, "organization", "id"), columns(Number, "revision"), columns(Time, "created_at", "updated_at"),
		[]Column{{"schema", JSON, "nullif(t.schema, '')"}},
	), "vault_vaults AS t WHERE t.deleted_at IS NULL AND " + notIn("vault_deleted_orgs", "t.organization")},

	{"vault", "stored_tokens", slices.Concat(
		[]Column{{"organization", Text, "v.organization"}, {"vault", Text, "v.id"}}, columns(Text, "token"), []Column{{"scope", Text, "s.name"}},
		columns(Bool, "deterministic"), []Column{{"key_version", Number, "t.sealed"}}, columns(Time, "created_at"),
	), storedTokens + "v.deleted_at IS NULL AND " + notIn("vault_deleted_orgs", "v.organization")},

	{"vault", "vault_history", slices.Concat(
		columns(UUID, "id"), columns(Text, "organization"), columns(Time, "at"), columns(Text, "kind", "actor", "vault"), // a row for each token
		[]Column{{"token", Text, "e.value ->> 'token'"}, {"scope", Text, "e.value ->> 'scope'"}, {"redaction", Text, "e.value ->> 'redaction'"}},
		columns(JSON, "schema"),
	), "vault_audit AS t LEFT JOIN LATERAL json_array_elements(t.tokens::json) AS e ON true WHERE t.mark OR " + notIn("vault_deleted_orgs", "t.organization")},

	{"audiosearch", "datasets", slices.Concat(
		columns(Text, "organization", "id"), columns(Time, "created_at"),
	), "audiosearch_datasets AS t WHERE " + notIn("audiosearch_deleted", "t.organization")},

	{"audiosearch", "videos", slices.Concat(
		[]Column{{"organization", Text, "d.organization"}, {"dataset", Text, "d.id"}}, columns(Text, "id", "path"), columns(JSON, "metadata"),
	), "audiosearch_videos AS t JOIN audiosearch_datasets AS d ON d.seq = t.dataset WHERE " + notIn("audiosearch_deleted", "d.organization")},

	{"audiosearch", "runs", slices.Concat(
		columns(Number, "id"), columns(Text, "organization", "dataset", "actor"), columns(JSON, "query"), columns(Text, "state"),
		[]Column{{"termination", Text, "nullif(t.termination, '')"}, {"message", Free, "nullif(t.message, '')"}},
		columns(Number, "attempts", "done", "total"), columns(Time, "created_at", "started_at", "finished_at", "due_at"),
	), "audiosearch_runs AS t WHERE " + notIn("audiosearch_deleted", "t.organization")},
}

// notIn is the condition that an organization is not in a table of deleted organizations.
func notIn(table, organization string) string {
	return "NOT EXISTS (SELECT 1 FROM " + table + " AS x WHERE x.organization = " + organization + ")"
}

const storedTokens = "vault_tokens AS t JOIN vault_vaults AS v ON v.seq = t.vault JOIN vault_scopes AS s ON s.seq = t.scope WHERE t.sealed IS NOT NULL AND "
