CREATE SCHEMA mortise;
CREATE TABLE mortise.audiosearch_current (
    dataset bigint NOT NULL,
    family bytea NOT NULL,
    model integer NOT NULL
);
CREATE TABLE mortise.audiosearch_datasets (
    organization bytea NOT NULL,
    id bytea NOT NULL,
    seq bigint NOT NULL,
    created_at timestamp with time zone,
    version bigint DEFAULT 0 NOT NULL,
    removed bigint DEFAULT 0 NOT NULL,
    videos bigint DEFAULT 0 NOT NULL
);
ALTER TABLE mortise.audiosearch_datasets ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mortise.audiosearch_datasets_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE mortise.audiosearch_deleted (
    organization bytea NOT NULL,
    since timestamp with time zone NOT NULL
);
CREATE TABLE mortise.audiosearch_model_order (
    place bigint NOT NULL,
    family bytea NOT NULL,
    model bytea NOT NULL
);
CREATE TABLE mortise.audiosearch_models (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    vocabulary integer,
    family bytea,
    replaced timestamp with time zone
);
CREATE TABLE mortise.audiosearch_names (
    id integer NOT NULL,
    name bytea NOT NULL
);
ALTER TABLE mortise.audiosearch_names ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mortise.audiosearch_names_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE mortise.audiosearch_part_scores (
    dataset bigint NOT NULL,
    video bytea NOT NULL,
    model integer NOT NULL,
    first bigint NOT NULL,
    class integer NOT NULL,
    scores bytea NOT NULL
);
CREATE TABLE mortise.audiosearch_parts (
    dataset bigint NOT NULL,
    video bytea NOT NULL,
    model integer NOT NULL,
    digest bytea NOT NULL,
    window_ bigint NOT NULL,
    hop bigint NOT NULL,
    vocabulary integer NOT NULL,
    windows bigint NOT NULL,
    used_at timestamp with time zone NOT NULL
);
CREATE TABLE mortise.audiosearch_result_sets (
    seq bigint NOT NULL,
    run bigint NOT NULL,
    token uuid NOT NULL
);
ALTER TABLE mortise.audiosearch_result_sets ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mortise.audiosearch_result_sets_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE mortise.audiosearch_result_videos (
    result_set bigint NOT NULL,
    id bytea NOT NULL,
    path bytea NOT NULL,
    metadata bytea
);
CREATE TABLE mortise.audiosearch_results (
    result_set bigint NOT NULL,
    first bigint NOT NULL,
    results bytea NOT NULL
);
CREATE TABLE mortise.audiosearch_runs (
    id bigint NOT NULL,
    organization bytea NOT NULL,
    created_at timestamp with time zone,
    actor bytea NOT NULL,
    query bytea NOT NULL,
    dataset bytea NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    termination text NOT NULL COLLATE pg_catalog."C",
    message bytea NOT NULL,
    done bigint NOT NULL,
    total bigint NOT NULL,
    attempts bigint NOT NULL,
    updated_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    trace bytea,
    due_at timestamp with time zone,
    checked_at timestamp with time zone,
    sound_done bigint NOT NULL,
    sound_total bigint NOT NULL,
    sound_speed double precision NOT NULL,
    result_set uuid
);
CREATE TABLE mortise.audiosearch_scores (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
)
PARTITION BY HASH (dataset);
CREATE TABLE mortise.audiosearch_scores_0 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_0 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_1 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_1 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_10 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_10 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_11 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_11 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_12 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_12 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_13 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_13 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_14 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_14 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_15 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_15 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_2 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_2 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_3 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_3 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_4 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_4 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_5 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_5 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_6 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_6 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_7 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_7 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_8 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_8 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scores_9 (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    class integer NOT NULL,
    video bytea NOT NULL,
    first bigint NOT NULL,
    scores bytea NOT NULL
);
ALTER TABLE ONLY mortise.audiosearch_scores_9 ALTER COLUMN scores SET STORAGE EXTERNAL;
CREATE TABLE mortise.audiosearch_scorings (
    dataset bigint NOT NULL,
    model integer NOT NULL,
    video bytea NOT NULL,
    vocabulary integer,
    file_size bigint NOT NULL,
    file_time timestamp with time zone,
    digest bytea NOT NULL,
    at timestamp with time zone,
    problem bytea NOT NULL,
    duration bigint NOT NULL,
    window_ bigint NOT NULL,
    hop bigint NOT NULL,
    windows bigint NOT NULL,
    has_video boolean NOT NULL,
    keyframes bigint[]
);
CREATE TABLE mortise.audiosearch_trash (
    organization bytea NOT NULL,
    seq bigint NOT NULL
);
CREATE TABLE mortise.audiosearch_videos (
    dataset bigint NOT NULL,
    id bytea NOT NULL,
    changed bigint NOT NULL,
    path bytea NOT NULL,
    metadata bytea
);
CREATE TABLE mortise.audiosearch_vocabularies (
    id integer NOT NULL,
    digest bytea NOT NULL,
    classes integer[] NOT NULL
);
ALTER TABLE mortise.audiosearch_vocabularies ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mortise.audiosearch_vocabularies_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE mortise.authmgmt_audit (
    seq bigint NOT NULL,
    id uuid NOT NULL,
    organization bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    kind bytea NOT NULL,
    actor bytea NOT NULL,
    target bytea NOT NULL,
    before bytea,
    after bytea
);
ALTER TABLE mortise.authmgmt_audit ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME mortise.authmgmt_audit_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE mortise.authmgmt_clients (
    organization bytea NOT NULL,
    id bytea NOT NULL,
    name bytea NOT NULL,
    roles bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone,
    deleted_at timestamp with time zone
);
CREATE TABLE mortise.authmgmt_deleted (
    organization bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    event bigint
);
CREATE TABLE mortise.authmgmt_invitations (
    organization bytea NOT NULL,
    id bytea NOT NULL,
    inviter bytea NOT NULL,
    email bytea NOT NULL,
    email_key bytea NOT NULL,
    name bytea NOT NULL,
    roles bytea NOT NULL,
    generation bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    lifetime bigint NOT NULL,
    expires_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    accepted_at timestamp with time zone,
    accepted_by bytea NOT NULL,
    granted_at timestamp with time zone,
    grant_due timestamp with time zone NOT NULL,
    grant_attempts bigint NOT NULL,
    awaits_person boolean NOT NULL,
    ended_at timestamp with time zone
);
CREATE TABLE mortise.authmgmt_key_check (
    one boolean NOT NULL,
    value bytea NOT NULL,
    CONSTRAINT authmgmt_key_check_one_check CHECK (one)
);
CREATE TABLE mortise.authmgmt_organizations (
    id bytea NOT NULL,
    rbac boolean NOT NULL
);
CREATE TABLE mortise.authmgmt_secrets (
    digest bytea NOT NULL,
    id uuid NOT NULL,
    organization bytea NOT NULL,
    client bytea NOT NULL,
    "position" integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone
);
CREATE TABLE mortise.authmgmt_tokens (
    digest bytea NOT NULL,
    id uuid NOT NULL,
    organization bytea NOT NULL,
    subject bytea NOT NULL,
    client bytea,
    secret bytea,
    roles bytea,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT authmgmt_tokens_check CHECK ((((client IS NULL) = (secret IS NULL)) AND ((client IS NULL) = (roles IS NOT NULL))))
);
CREATE TABLE mortise.jobs (
    seq bigint NOT NULL,
    id bytea NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    organization bytea NOT NULL,
    claimable_at timestamp with time zone NOT NULL,
    ready boolean NOT NULL,
    token uuid,
    deliveries integer NOT NULL,
    dead boolean NOT NULL,
    trace bytea
);
ALTER TABLE mortise.jobs ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME mortise.jobs_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE mortise.locks (
    id bigint NOT NULL,
    taken bigint NOT NULL
);
CREATE TABLE mortise.mortise_versions (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);
ALTER TABLE mortise.mortise_versions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME mortise.mortise_versions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE mortise.trigger_api_keys (
    digest bytea NOT NULL,
    id uuid NOT NULL,
    organization bytea NOT NULL,
    name bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone
);
CREATE TABLE mortise.trigger_collections (
    organization bytea NOT NULL,
    id uuid NOT NULL,
    ready boolean NOT NULL
);
CREATE TABLE mortise.trigger_deleted (
    organization bytea NOT NULL,
    since timestamp with time zone NOT NULL
);
CREATE TABLE mortise.trigger_events (
    id uuid NOT NULL,
    version bigint NOT NULL,
    organization bytea NOT NULL,
    submitted_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    due_at timestamp with time zone,
    checked_at timestamp with time zone,
    unqueued_since timestamp with time zone,
    attempts bigint NOT NULL,
    generation bigint NOT NULL,
    status smallint NOT NULL,
    collection uuid,
    source bytea NOT NULL,
    instructions bytea NOT NULL,
    context bytea,
    idempotency_key bytea,
    body_digest bytea,
    trace bytea,
    last_error bytea NOT NULL,
    outcome_summary bytea,
    outcome_data bytea
);
CREATE TABLE mortise.trigger_organizations (
    id bytea NOT NULL,
    setup_complete boolean NOT NULL
);
CREATE TABLE mortise.vault_audit (
    id uuid NOT NULL,
    organization bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    kind bytea NOT NULL,
    actor bytea NOT NULL,
    vault bytea NOT NULL,
    tokens bytea,
    schema bytea,
    mark boolean NOT NULL
);
CREATE TABLE mortise.vault_deleted_orgs (
    organization bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    rest boolean NOT NULL
);
CREATE TABLE mortise.vault_fingerprints (
    scope bigint NOT NULL,
    version bigint NOT NULL,
    "row" bigint NOT NULL,
    fingerprint bytea NOT NULL,
    token bytea NOT NULL
);
CREATE TABLE mortise.vault_keys (
    purpose text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    check_value bytea NOT NULL,
    required boolean NOT NULL,
    retired boolean NOT NULL
);
CREATE TABLE mortise.vault_scopes (
    seq bigint NOT NULL,
    vault bigint NOT NULL,
    name bytea NOT NULL
);
ALTER TABLE mortise.vault_scopes ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME mortise.vault_scopes_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE SEQUENCE mortise.vault_token_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE mortise.vault_tokens (
    seq bigint NOT NULL,
    vault bigint NOT NULL,
    scope bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    sealed bigint,
    deterministic boolean NOT NULL,
    token bytea NOT NULL,
    ciphertext bytea
);
ALTER TABLE ONLY mortise.vault_tokens ALTER COLUMN ciphertext SET STORAGE EXTERNAL;
CREATE TABLE mortise.vault_vaults (
    seq bigint NOT NULL,
    organization bytea NOT NULL,
    id bytea NOT NULL,
    revision bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    schema bytea NOT NULL,
    deleted_at timestamp with time zone,
    rest boolean DEFAULT false NOT NULL
);
ALTER TABLE mortise.vault_vaults ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME mortise.vault_vaults_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_0 FOR VALUES WITH (modulus 16, remainder 0);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_1 FOR VALUES WITH (modulus 16, remainder 1);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_10 FOR VALUES WITH (modulus 16, remainder 10);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_11 FOR VALUES WITH (modulus 16, remainder 11);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_12 FOR VALUES WITH (modulus 16, remainder 12);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_13 FOR VALUES WITH (modulus 16, remainder 13);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_14 FOR VALUES WITH (modulus 16, remainder 14);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_15 FOR VALUES WITH (modulus 16, remainder 15);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_2 FOR VALUES WITH (modulus 16, remainder 2);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_3 FOR VALUES WITH (modulus 16, remainder 3);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_4 FOR VALUES WITH (modulus 16, remainder 4);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_5 FOR VALUES WITH (modulus 16, remainder 5);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_6 FOR VALUES WITH (modulus 16, remainder 6);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_7 FOR VALUES WITH (modulus 16, remainder 7);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_8 FOR VALUES WITH (modulus 16, remainder 8);
ALTER TABLE ONLY mortise.audiosearch_scores ATTACH PARTITION mortise.audiosearch_scores_9 FOR VALUES WITH (modulus 16, remainder 9);
INSERT INTO mortise.mortise_versions VALUES (1, 0, true, '2026-11-28 19:16:35.550382');
INSERT INTO mortise.mortise_versions VALUES (2, 1, true, '2026-11-28 19:16:35.570291');
INSERT INTO mortise.mortise_versions VALUES (3, 2, true, '2026-11-28 19:16:35.584776');
INSERT INTO mortise.mortise_versions VALUES (4, 3, true, '2026-11-28 19:16:35.615645');
INSERT INTO mortise.mortise_versions VALUES (5, 4, true, '2026-11-28 19:16:35.676895');
INSERT INTO mortise.mortise_versions VALUES (6, 5, true, '2026-11-28 19:16:35.738993');
INSERT INTO mortise.mortise_versions VALUES (7, 6, true, '2026-11-28 19:16:35.923291');
SELECT pg_catalog.setval('mortise.audiosearch_datasets_seq_seq', 1, false);
SELECT pg_catalog.setval('mortise.audiosearch_names_id_seq', 1, false);
SELECT pg_catalog.setval('mortise.audiosearch_result_sets_seq_seq', 1, false);
SELECT pg_catalog.setval('mortise.audiosearch_vocabularies_id_seq', 1, false);
SELECT pg_catalog.setval('mortise.authmgmt_audit_seq_seq', 1, false);
SELECT pg_catalog.setval('mortise.jobs_seq_seq', 1, false);
SELECT pg_catalog.setval('mortise.mortise_versions_id_seq', 7, true);
SELECT pg_catalog.setval('mortise.vault_scopes_seq_seq', 1, false);
SELECT pg_catalog.setval('mortise.vault_token_numbers', 1, false);
SELECT pg_catalog.setval('mortise.vault_vaults_seq_seq', 1, false);
ALTER TABLE ONLY mortise.audiosearch_current
    ADD CONSTRAINT audiosearch_current_pkey PRIMARY KEY (dataset, family);
ALTER TABLE ONLY mortise.audiosearch_datasets
    ADD CONSTRAINT audiosearch_datasets_pkey PRIMARY KEY (organization, id);
ALTER TABLE ONLY mortise.audiosearch_datasets
    ADD CONSTRAINT audiosearch_datasets_seq_key UNIQUE (seq);
ALTER TABLE ONLY mortise.audiosearch_deleted
    ADD CONSTRAINT audiosearch_deleted_pkey PRIMARY KEY (organization);
ALTER TABLE ONLY mortise.audiosearch_model_order
    ADD CONSTRAINT audiosearch_model_order_pkey PRIMARY KEY (family, model);
ALTER TABLE ONLY mortise.audiosearch_model_order
    ADD CONSTRAINT audiosearch_model_order_place_key UNIQUE (place);
ALTER TABLE ONLY mortise.audiosearch_models
    ADD CONSTRAINT audiosearch_models_pkey PRIMARY KEY (dataset, model);
ALTER TABLE ONLY mortise.audiosearch_names
    ADD CONSTRAINT audiosearch_names_name_key UNIQUE (name);
ALTER TABLE ONLY mortise.audiosearch_names
    ADD CONSTRAINT audiosearch_names_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mortise.audiosearch_part_scores
    ADD CONSTRAINT audiosearch_part_scores_pkey PRIMARY KEY (dataset, video, model, first, class);
ALTER TABLE ONLY mortise.audiosearch_parts
    ADD CONSTRAINT audiosearch_parts_pkey PRIMARY KEY (dataset, video, model);
ALTER TABLE ONLY mortise.audiosearch_result_sets
    ADD CONSTRAINT audiosearch_result_sets_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY mortise.audiosearch_result_sets
    ADD CONSTRAINT audiosearch_result_sets_run_token_key UNIQUE (run, token);
ALTER TABLE ONLY mortise.audiosearch_result_videos
    ADD CONSTRAINT audiosearch_result_videos_pkey PRIMARY KEY (result_set, id);
ALTER TABLE ONLY mortise.audiosearch_results
    ADD CONSTRAINT audiosearch_results_pkey PRIMARY KEY (result_set, first);
ALTER TABLE ONLY mortise.audiosearch_runs
    ADD CONSTRAINT audiosearch_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mortise.audiosearch_scores
    ADD CONSTRAINT audiosearch_scores_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_0
    ADD CONSTRAINT audiosearch_scores_0_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_10
    ADD CONSTRAINT audiosearch_scores_10_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_11
    ADD CONSTRAINT audiosearch_scores_11_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_12
    ADD CONSTRAINT audiosearch_scores_12_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_13
    ADD CONSTRAINT audiosearch_scores_13_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_14
    ADD CONSTRAINT audiosearch_scores_14_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_15
    ADD CONSTRAINT audiosearch_scores_15_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_1
    ADD CONSTRAINT audiosearch_scores_1_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_2
    ADD CONSTRAINT audiosearch_scores_2_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_3
    ADD CONSTRAINT audiosearch_scores_3_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_4
    ADD CONSTRAINT audiosearch_scores_4_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_5
    ADD CONSTRAINT audiosearch_scores_5_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_6
    ADD CONSTRAINT audiosearch_scores_6_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_7
    ADD CONSTRAINT audiosearch_scores_7_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_8
    ADD CONSTRAINT audiosearch_scores_8_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scores_9
    ADD CONSTRAINT audiosearch_scores_9_pkey PRIMARY KEY (dataset, model, class, video, first);
ALTER TABLE ONLY mortise.audiosearch_scorings
    ADD CONSTRAINT audiosearch_scorings_pkey PRIMARY KEY (dataset, model, video);
ALTER TABLE ONLY mortise.audiosearch_trash
    ADD CONSTRAINT audiosearch_trash_pkey PRIMARY KEY (organization, seq);
ALTER TABLE ONLY mortise.audiosearch_videos
    ADD CONSTRAINT audiosearch_videos_pkey PRIMARY KEY (dataset, id);
ALTER TABLE ONLY mortise.audiosearch_vocabularies
    ADD CONSTRAINT audiosearch_vocabularies_digest_key UNIQUE (digest);
ALTER TABLE ONLY mortise.audiosearch_vocabularies
    ADD CONSTRAINT audiosearch_vocabularies_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mortise.authmgmt_audit
    ADD CONSTRAINT authmgmt_audit_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY mortise.authmgmt_clients
    ADD CONSTRAINT authmgmt_clients_pkey PRIMARY KEY (id, organization);
ALTER TABLE ONLY mortise.authmgmt_deleted
    ADD CONSTRAINT authmgmt_deleted_pkey PRIMARY KEY (organization);
ALTER TABLE ONLY mortise.authmgmt_invitations
    ADD CONSTRAINT authmgmt_invitations_pkey PRIMARY KEY (id, organization);
ALTER TABLE ONLY mortise.authmgmt_key_check
    ADD CONSTRAINT authmgmt_key_check_pkey PRIMARY KEY (one);
ALTER TABLE ONLY mortise.authmgmt_organizations
    ADD CONSTRAINT authmgmt_organizations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mortise.authmgmt_secrets
    ADD CONSTRAINT authmgmt_secrets_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY mortise.authmgmt_tokens
    ADD CONSTRAINT authmgmt_tokens_id_key UNIQUE (id);
ALTER TABLE ONLY mortise.authmgmt_tokens
    ADD CONSTRAINT authmgmt_tokens_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY mortise.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY mortise.locks
    ADD CONSTRAINT locks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mortise.mortise_versions
    ADD CONSTRAINT mortise_versions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mortise.trigger_api_keys
    ADD CONSTRAINT trigger_api_keys_id_key UNIQUE (id);
ALTER TABLE ONLY mortise.trigger_api_keys
    ADD CONSTRAINT trigger_api_keys_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY mortise.trigger_collections
    ADD CONSTRAINT trigger_collections_pkey PRIMARY KEY (organization, id);
ALTER TABLE ONLY mortise.trigger_deleted
    ADD CONSTRAINT trigger_deleted_pkey PRIMARY KEY (organization);
ALTER TABLE ONLY mortise.trigger_events
    ADD CONSTRAINT trigger_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mortise.trigger_organizations
    ADD CONSTRAINT trigger_organizations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mortise.vault_deleted_orgs
    ADD CONSTRAINT vault_deleted_orgs_pkey PRIMARY KEY (organization);
ALTER TABLE ONLY mortise.vault_fingerprints
    ADD CONSTRAINT vault_fingerprints_pkey PRIMARY KEY (fingerprint, scope, version);
ALTER TABLE ONLY mortise.vault_keys
    ADD CONSTRAINT vault_keys_pkey PRIMARY KEY (purpose, version);
ALTER TABLE ONLY mortise.vault_scopes
    ADD CONSTRAINT vault_scopes_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY mortise.vault_tokens
    ADD CONSTRAINT vault_tokens_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY mortise.vault_vaults
    ADD CONSTRAINT vault_vaults_pkey PRIMARY KEY (seq);
CREATE INDEX audiosearch_models_replaced ON mortise.audiosearch_models USING btree (replaced) WHERE (replaced IS NOT NULL);
CREATE INDEX audiosearch_parts_used ON mortise.audiosearch_parts USING btree (used_at);
CREATE INDEX audiosearch_runs_checked ON mortise.audiosearch_runs USING btree (checked_at NULLS FIRST, id) WHERE (state <> 'TERMINATED'::text);
CREATE INDEX audiosearch_runs_due ON mortise.audiosearch_runs USING btree (state, due_at) WHERE (state <> 'TERMINATED'::text);
CREATE INDEX audiosearch_runs_ended ON mortise.audiosearch_runs USING btree (organization, termination, finished_at, id) WHERE (state = 'TERMINATED'::text);
CREATE INDEX audiosearch_runs_finished ON mortise.audiosearch_runs USING btree (finished_at) WHERE (state = 'TERMINATED'::text);
CREATE INDEX audiosearch_runs_list ON mortise.audiosearch_runs USING btree (organization, created_at DESC, id DESC);
CREATE INDEX audiosearch_runs_open ON mortise.audiosearch_runs USING btree (organization, state, created_at) WHERE (state <> 'TERMINATED'::text);
CREATE INDEX audiosearch_scores_video ON ONLY mortise.audiosearch_scores USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_0_dataset_video_model_idx ON mortise.audiosearch_scores_0 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_10_dataset_video_model_idx ON mortise.audiosearch_scores_10 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_11_dataset_video_model_idx ON mortise.audiosearch_scores_11 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_12_dataset_video_model_idx ON mortise.audiosearch_scores_12 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_13_dataset_video_model_idx ON mortise.audiosearch_scores_13 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_14_dataset_video_model_idx ON mortise.audiosearch_scores_14 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_15_dataset_video_model_idx ON mortise.audiosearch_scores_15 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_1_dataset_video_model_idx ON mortise.audiosearch_scores_1 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_2_dataset_video_model_idx ON mortise.audiosearch_scores_2 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_3_dataset_video_model_idx ON mortise.audiosearch_scores_3 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_4_dataset_video_model_idx ON mortise.audiosearch_scores_4 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_5_dataset_video_model_idx ON mortise.audiosearch_scores_5 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_6_dataset_video_model_idx ON mortise.audiosearch_scores_6 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_7_dataset_video_model_idx ON mortise.audiosearch_scores_7 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_8_dataset_video_model_idx ON mortise.audiosearch_scores_8 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scores_9_dataset_video_model_idx ON mortise.audiosearch_scores_9 USING btree (dataset, video, model);
CREATE INDEX audiosearch_scorings_video ON mortise.audiosearch_scorings USING btree (dataset, video);
CREATE INDEX audiosearch_videos_changed ON mortise.audiosearch_videos USING btree (dataset, changed);
CREATE INDEX authmgmt_audit_listing ON mortise.authmgmt_audit USING btree (organization, at, id);
CREATE INDEX authmgmt_audit_target ON mortise.authmgmt_audit USING btree (organization, target, at, id);
CREATE INDEX authmgmt_audit_time ON mortise.authmgmt_audit USING btree (at);
CREATE INDEX authmgmt_clients_listing ON mortise.authmgmt_clients USING btree (organization, created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX authmgmt_invitations_due ON mortise.authmgmt_invitations USING btree (grant_due, organization, id) WHERE ((accepted_at IS NOT NULL) AND (granted_at IS NULL) AND (NOT awaits_person));
CREATE INDEX authmgmt_invitations_email ON mortise.authmgmt_invitations USING btree (organization, email_key, expires_at) WHERE ((accepted_at IS NULL) AND (cancelled_at IS NULL));
CREATE INDEX authmgmt_invitations_ended ON mortise.authmgmt_invitations USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX authmgmt_invitations_listing ON mortise.authmgmt_invitations USING btree (organization, created_at, id);
CREATE INDEX authmgmt_invitations_open ON mortise.authmgmt_invitations USING btree (organization, expires_at) WHERE ((accepted_at IS NULL) AND (cancelled_at IS NULL));
CREATE INDEX authmgmt_invitations_pending ON mortise.authmgmt_invitations USING btree (organization, created_at, id) WHERE ((accepted_at IS NULL) AND (cancelled_at IS NULL));
CREATE INDEX authmgmt_invitations_waiting ON mortise.authmgmt_invitations USING btree (organization, accepted_at) WHERE ((accepted_at IS NOT NULL) AND (granted_at IS NULL));
CREATE INDEX authmgmt_secrets_client ON mortise.authmgmt_secrets USING btree (organization, client, "position");
CREATE INDEX authmgmt_tokens_expiry ON mortise.authmgmt_tokens USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX authmgmt_tokens_listing ON mortise.authmgmt_tokens USING btree (organization, created_at, id);
CREATE INDEX authmgmt_tokens_live ON mortise.authmgmt_tokens USING btree (organization, expires_at) WHERE (revoked_at IS NULL);
CREATE INDEX authmgmt_tokens_secret ON mortise.authmgmt_tokens USING btree (secret) WHERE (secret IS NOT NULL);
CREATE UNIQUE INDEX jobs_id ON mortise.jobs USING btree (id, kind, organization);
CREATE INDEX jobs_later ON mortise.jobs USING btree (claimable_at) WHERE ((NOT dead) AND (NOT ready));
CREATE INDEX jobs_ready ON mortise.jobs USING btree (kind, organization, claimable_at, seq) WHERE ((NOT dead) AND ready);
CREATE INDEX trigger_api_keys_listing ON mortise.trigger_api_keys USING btree (organization, created_at, id);
CREATE INDEX trigger_events_checked ON mortise.trigger_events USING btree (checked_at) WHERE ((checked_at IS NOT NULL) AND (status < 2));
CREATE INDEX trigger_events_finished ON mortise.trigger_events USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE UNIQUE INDEX trigger_events_key ON mortise.trigger_events USING btree (organization, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX trigger_events_open ON mortise.trigger_events USING btree (status, due_at, checked_at) WHERE (status <> 2);
CREATE INDEX trigger_events_source ON mortise.trigger_events USING btree (organization, source, status, submitted_at, id);
CREATE INDEX trigger_events_status ON mortise.trigger_events USING btree (organization, status, submitted_at, id);
CREATE INDEX trigger_events_unqueued ON mortise.trigger_events USING btree (unqueued_since) WHERE ((unqueued_since IS NOT NULL) AND (status = 0));
CREATE INDEX vault_audit_listing ON mortise.vault_audit USING btree (organization, at, id);
CREATE INDEX vault_audit_mark ON mortise.vault_audit USING btree (organization) WHERE mark;
CREATE INDEX vault_audit_time ON mortise.vault_audit USING btree (at);
CREATE INDEX vault_audit_vault ON mortise.vault_audit USING btree (organization, vault, at, id);
CREATE INDEX vault_deleted_orgs_rest ON mortise.vault_deleted_orgs USING btree (organization) WHERE rest;
CREATE UNIQUE INDEX vault_fingerprints_row ON mortise.vault_fingerprints USING btree (version, "row") INCLUDE (scope);
CREATE UNIQUE INDEX vault_scopes_name ON mortise.vault_scopes USING btree (vault, name);
CREATE INDEX vault_tokens_deleted ON mortise.vault_tokens USING btree (vault) WHERE (sealed IS NULL);
CREATE INDEX vault_tokens_sealed ON mortise.vault_tokens USING btree (scope, deterministic, sealed) WHERE (sealed IS NOT NULL);
CREATE UNIQUE INDEX vault_tokens_token ON mortise.vault_tokens USING btree (vault, token);
CREATE UNIQUE INDEX vault_vaults_id ON mortise.vault_vaults USING btree (organization, id);
CREATE INDEX vault_vaults_rest ON mortise.vault_vaults USING btree (seq) WHERE rest;
CREATE INDEX vault_vaults_there ON mortise.vault_vaults USING btree (organization, id) WHERE (deleted_at IS NULL);
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_0_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_0_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_10_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_10_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_11_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_11_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_12_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_12_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_13_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_13_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_14_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_14_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_15_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_15_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_1_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_1_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_2_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_2_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_3_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_3_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_4_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_4_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_5_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_5_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_6_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_6_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_7_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_7_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_8_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_8_pkey;
ALTER INDEX mortise.audiosearch_scores_video ATTACH PARTITION mortise.audiosearch_scores_9_dataset_video_model_idx;
ALTER INDEX mortise.audiosearch_scores_pkey ATTACH PARTITION mortise.audiosearch_scores_9_pkey;
ALTER TABLE ONLY mortise.audiosearch_result_sets
    ADD CONSTRAINT audiosearch_result_sets_run_fkey FOREIGN KEY (run) REFERENCES mortise.audiosearch_runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY mortise.audiosearch_result_videos
    ADD CONSTRAINT audiosearch_result_videos_result_set_fkey FOREIGN KEY (result_set) REFERENCES mortise.audiosearch_result_sets(seq) ON DELETE CASCADE;
ALTER TABLE ONLY mortise.audiosearch_results
    ADD CONSTRAINT audiosearch_results_result_set_fkey FOREIGN KEY (result_set) REFERENCES mortise.audiosearch_result_sets(seq) ON DELETE CASCADE;
ALTER TABLE ONLY mortise.authmgmt_secrets
    ADD CONSTRAINT authmgmt_secrets_organization_client_fkey FOREIGN KEY (organization, client) REFERENCES mortise.authmgmt_clients(organization, id);
ALTER TABLE ONLY mortise.authmgmt_tokens
    ADD CONSTRAINT authmgmt_tokens_secret_fkey FOREIGN KEY (secret) REFERENCES mortise.authmgmt_secrets(digest) ON DELETE CASCADE;
