-- The whole schema. `schema.prisma` says what the columns mean. This file adds what Prisma does not know: rules that no code path
-- may break, partial indexes, and the triggers that tell other processes of a change.

-- Teams and people
-- ----------------

CREATE TYPE "team_role" AS ENUM ('viewer', 'member', 'admin');

CREATE TABLE "team" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "slug" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "adopted_servers_max" INTEGER,
    "clusters_max" INTEGER,
    "name" TEXT NOT NULL DEFAULT '',
    "nodes_per_cluster_max" INTEGER,
    "number" SERIAL NOT NULL,
    "pools_per_cluster_max" INTEGER,
    "project_name" TEXT NOT NULL DEFAULT ('t' || substr(md5(gen_random_uuid()::text), 1, 7)),
    "project_namespace" TEXT,
    "dns_records_max" INTEGER,
    "dns_requests_max" INTEGER,
    "dns_token_requests_max" INTEGER,
    "account_requests_max" INTEGER,
    CONSTRAINT "team_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "team_dns_records_max_is_count" CHECK ("dns_records_max" >= 0),
    -- A bucket without capacity never fills.
    CONSTRAINT "team_request_limits_positive" CHECK (least("dns_requests_max", "dns_token_requests_max", "account_requests_max") > 0),
    CONSTRAINT "team_slug_form" CHECK ("slug" ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')
);
CREATE UNIQUE INDEX "team_slug_key" ON "team"("slug");
CREATE UNIQUE INDEX "team_number_key" ON "team"("number");
CREATE UNIQUE INDEX "team_project_name_key" ON "team"("project_name");

-- Each change of a team locks this row, so changes of a team come one after the other.
CREATE TABLE "team_change_lock" (
    "team_id" UUID NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "team_change_lock_pkey" PRIMARY KEY ("team_id"),
    CONSTRAINT "team_change_lock_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- A team has its lock, however it is made.
CREATE FUNCTION "team_change_lock_make"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "team_change_lock" ("team_id") VALUES (NEW."id") ON CONFLICT DO NOTHING;
  RETURN NULL;
END;
$$;
CREATE TRIGGER "team_change_lock_made" AFTER INSERT ON "team"
FOR EACH ROW EXECUTE FUNCTION "team_change_lock_make"();

CREATE TABLE "app_user" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "number" SERIAL NOT NULL,
    "email" TEXT NOT NULL,
    "first_name" TEXT NOT NULL DEFAULT '',
    "last_name" TEXT NOT NULL DEFAULT '',
    "display_name" TEXT NOT NULL DEFAULT '',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "app_user_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "app_user_number_key" ON "app_user"("number");
CREATE UNIQUE INDEX "app_user_email_key" ON "app_user"("email");

CREATE TABLE "user_identity" (
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "user_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "user_identity_pkey" PRIMARY KEY ("issuer", "subject"),
    CONSTRAINT "user_identity_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "user_identity_user_id_idx" ON "user_identity"("user_id");

CREATE TABLE "membership" (
    "team_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "number" SERIAL NOT NULL,
    "role" "team_role" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "membership_pkey" PRIMARY KEY ("team_id", "user_id"),
    CONSTRAINT "membership_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "membership_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "membership_number_key" ON "membership"("number");
CREATE INDEX "membership_user_id_idx" ON "membership"("user_id");

CREATE TABLE "session" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "user_id" UUID NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "idle_expires_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),
    "method" TEXT NOT NULL DEFAULT 'development',
    "user_agent" TEXT NOT NULL DEFAULT '',
    "name" TEXT,
    CONSTRAINT "session_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "session_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "session_hash_key" ON "session"("hash");
CREATE INDEX "session_user_id_idx" ON "session"("user_id");

CREATE TABLE "sign_in_code" (
    "hash" BYTEA NOT NULL,
    "allowed_by" UUID NOT NULL,
    "starts_session" UUID NOT NULL DEFAULT gen_random_uuid(),
    "code_challenge" TEXT NOT NULL,
    "redirect_uri" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),
    CONSTRAINT "sign_in_code_pkey" PRIMARY KEY ("hash"),
    CONSTRAINT "sign_in_code_allowed_by_fkey" FOREIGN KEY ("allowed_by") REFERENCES "session"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "sign_in_code_allowed_by_idx" ON "sign_in_code"("allowed_by");

CREATE TABLE "invitation" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "role" "team_role" NOT NULL,
    "invited_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "accepted_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "mail_due_at" TIMESTAMPTZ(3),
    "mail_failures" INTEGER NOT NULL DEFAULT 0,
    "mail_sent_at" TIMESTAMPTZ(3),
    CONSTRAINT "invitation_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "invitation_invited_by_fkey" FOREIGN KEY ("invited_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "invitation_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "invitation_team_id_email_key" ON "invitation"("team_id", "email");
CREATE INDEX "invitation_email_idx" ON "invitation"("email");
CREATE INDEX "invitation_mail_due_at_idx" ON "invitation"("mail_due_at");

CREATE TABLE "service_account" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "role" "team_role" NOT NULL,
    "clusters" TEXT[],
    "actions" TEXT[],
    "created_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "service_account_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "service_account_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "service_account_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "service_account_team_id_name_key" ON "service_account"("team_id", "name");

CREATE TABLE "trusted_issuer" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "audience" TEXT NOT NULL,
    "claims" JSONB NOT NULL,
    "account_id" UUID NOT NULL,
    "created_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "trusted_issuer_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "trusted_issuer_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "service_account"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "trusted_issuer_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "trusted_issuer_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "trusted_issuer_team_id_name_key" ON "trusted_issuer"("team_id", "name");
CREATE INDEX "trusted_issuer_account_id_idx" ON "trusted_issuer"("account_id");
CREATE INDEX "trusted_issuer_issuer_idx" ON "trusted_issuer"("issuer");

CREATE TABLE "service_account_token" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_by" UUID,
    "issuer_id" UUID,
    "subject" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    CONSTRAINT "service_account_token_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "service_account_token_origin" CHECK (("created_by" IS NULL) <> ("issuer_id" IS NULL) AND ("issuer_id" IS NULL) = ("subject" IS NULL)),
    CONSTRAINT "service_account_token_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "service_account"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "service_account_token_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "service_account_token_issuer_id_fkey" FOREIGN KEY ("issuer_id") REFERENCES "trusted_issuer"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "service_account_token_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "service_account_token_hash_key" ON "service_account_token"("hash");
CREATE INDEX "service_account_token_account_id_created_at_idx" ON "service_account_token"("account_id", "created_at" DESC);
CREATE INDEX "service_account_token_issuer_id_idx" ON "service_account_token"("issuer_id");

-- The outcome of a POST with an `Idempotency-Key`: the id of what it made, never a body.
CREATE TABLE "idempotency_key" (
    "team_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" BYTEA NOT NULL,
    "resource_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("team_id", "user_id", "key")
);
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key"("created_at");

CREATE TABLE "subscription" (
    "team_id" UUID NOT NULL,
    "body" JSONB NOT NULL,
    "is_active" BOOLEAN NOT NULL,
    "stated_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "subscription_pkey" PRIMARY KEY ("team_id"),
    CONSTRAINT "subscription_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- Processed calls of the billing system, which sends each one at least once.
CREATE TABLE "billing_event" (
    "id" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "billing_event_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "billing_event_received_at_idx" ON "billing_event"("received_at");

-- What a team used in one hour. Hours in which the reconciler did not run have no row.
CREATE TABLE "usage_hour" (
    "team_id" UUID NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "counted_at" TIMESTAMPTZ(3),
    "is_final" BOOLEAN NOT NULL DEFAULT false,
    "requests" INTEGER,
    "writes" INTEGER,
    "refused_writes" INTEGER,
    "sampled_at" TIMESTAMPTZ(3),
    "records" INTEGER,
    "records_limit" INTEGER,
    "dns_tokens" INTEGER,
    "clusters" INTEGER,
    "nodes" INTEGER,
    "cost_minimum" TEXT,
    "cost_maximum" TEXT,
    "cost_currency" TEXT,
    CONSTRAINT "usage_hour_pkey" PRIMARY KEY ("team_id", "hour"),
    CONSTRAINT "usage_hour_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "usage_hour_hour_idx" ON "usage_hour"("hour");

-- The installation
-- ----------------

-- Live processes of a service, by their heartbeats.
CREATE TABLE "service_process" (
    "id" UUID NOT NULL,
    "service" TEXT NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "service_process_pkey" PRIMARY KEY ("id")
);

-- Tasks that one process of the installation performs at a time.
CREATE TABLE "leadership" (
    "name" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "fence" INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT "leadership_pkey" PRIMARY KEY ("name")
);

CREATE TABLE "installation_hold" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "reason" TEXT NOT NULL,
    "backup_taken_at" TIMESTAMPTZ(3),
    "begun_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),
    CONSTRAINT "installation_hold_pkey" PRIMARY KEY ("id")
);
-- One hold is in force at a time.
CREATE UNIQUE INDEX "installation_hold_open" ON "installation_hold"((true)) WHERE "ended_at" IS NULL;

-- What passes found during a hold, and would have changed.
CREATE TABLE "hold_finding" (
    "hold_id" UUID NOT NULL,
    "target_kind" TEXT NOT NULL,
    "target_id" TEXT NOT NULL,
    "finding" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "found_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "hold_finding_pkey" PRIMARY KEY ("hold_id", "target_kind", "target_id"),
    CONSTRAINT "hold_finding_hold_id_fkey" FOREIGN KEY ("hold_id") REFERENCES "installation_hold"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- Acts of operators that concern no team, or all of them. The others are entries of the team's log.
CREATE TABLE "operator_act" (
    "id" BIGSERIAL NOT NULL,
    "operator" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target_kind" TEXT NOT NULL,
    "target_name" TEXT NOT NULL,
    "detail" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "operator_act_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "operator_act_operator_is_short" CHECK (length("operator") BETWEEN 1 AND 100)
);
CREATE INDEX "operator_act_created_at_idx" ON "operator_act"("created_at");

-- DNS: zones, record sets and the walk over the upstream
-- ------------------------------------------------------

CREATE TYPE "dns_sync_state" AS ENUM ('running', 'succeeded', 'failed');

CREATE TABLE "dns_zone" (
    "id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "synced_at" TIMESTAMPTZ(3) NOT NULL,
    "of_demos" BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT "dns_zone_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "dns_zone_name_key" ON "dns_zone"("name");

-- The mirror of the upstream.
CREATE TABLE "dns_rrset" (
    "zone_id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "owner_label" TEXT NOT NULL,
    "record_count" INTEGER NOT NULL,
    "body" TEXT NOT NULL,
    "first_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "dns_rrset_pkey" PRIMARY KEY ("zone_id", "name", "type"),
    CONSTRAINT "dns_rrset_record_count_positive" CHECK ("record_count" > 0),
    CONSTRAINT "dns_rrset_zone_id_fkey" FOREIGN KEY ("zone_id") REFERENCES "dns_zone"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
-- The order of lists: pages are read from it, whatever the collation of the database.
CREATE INDEX "dns_rrset_of_id" ON "dns_rrset"("zone_id", "owner_label", (("name" || '/' || "type") COLLATE "C"));

CREATE TABLE "dns_sync_run" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "zone_name" TEXT NOT NULL,
    "zone_id" BIGINT,
    "reason" TEXT NOT NULL,
    "state" "dns_sync_state" NOT NULL,
    "rrsets_seen" INTEGER NOT NULL DEFAULT 0,
    "added" INTEGER NOT NULL DEFAULT 0,
    "changed" INTEGER NOT NULL DEFAULT 0,
    "removed" INTEGER NOT NULL DEFAULT 0,
    "skipped" INTEGER NOT NULL DEFAULT 0,
    "failure" TEXT,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),
    "fence" INTEGER NOT NULL DEFAULT 0,
    "listed_total" INTEGER,
    "next_page" INTEGER DEFAULT 1,
    "progressed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "dns_sync_run_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "dns_sync_run_zone_id_fkey" FOREIGN KEY ("zone_id") REFERENCES "dns_zone"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "dns_sync_run_zone_name_started_at_idx" ON "dns_sync_run"("zone_name", "started_at" DESC);

-- Record sets seen by a running walk over the zone. Mirrored sets that are missing here may be gone.
CREATE TABLE "dns_sync_seen" (
    "run_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    CONSTRAINT "dns_sync_seen_pkey" PRIMARY KEY ("run_id", "name", "type"),
    CONSTRAINT "dns_sync_seen_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "dns_sync_run"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- The account of an upstream project's requests, where Redis does not keep it.
CREATE TABLE "upstream_budget" (
    "project" TEXT NOT NULL,
    "version" BIGINT NOT NULL,
    "state" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "upstream_budget_pkey" PRIMARY KEY ("project")
);

-- DNS: demos and tokens
-- ---------------------

CREATE TABLE "course_code" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "code" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "live_demos_max" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deactivated_at" TIMESTAMPTZ(3),
    "live_demos_per_address_max" INTEGER NOT NULL DEFAULT 20,
    CONSTRAINT "course_code_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "course_code_hash_length" CHECK (octet_length("hash") = 32)
);
CREATE UNIQUE INDEX "course_code_code_key" ON "course_code"("code");
CREATE UNIQUE INDEX "course_code_hash_key" ON "course_code"("hash");

CREATE TABLE "demo" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "zone_id" BIGINT NOT NULL,
    "label" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "team_id" UUID,
    "course_code_id" UUID,
    "ttl_seconds" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "clear_at" TIMESTAMPTZ(3),
    "clear_failures" INTEGER NOT NULL DEFAULT 0,
    "released_at" TIMESTAMPTZ(3),
    "made_from" TEXT,
    CONSTRAINT "demo_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "demo_ended_is_cleared" CHECK (("ended_at" IS NULL) = ("clear_at" IS NULL)),
    CONSTRAINT "demo_has_one_maker" CHECK (num_nonnulls("team_id", "course_code_id") = 1),
    CONSTRAINT "demo_label_form" CHECK ("label" ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    CONSTRAINT "demo_lifetime" CHECK ("expires_at" <= "created_at" + interval '168 hours'),
    CONSTRAINT "demo_released_has_ended" CHECK ("released_at" IS NULL OR "ended_at" IS NOT NULL),
    CONSTRAINT "demo_course_code_id_fkey" FOREIGN KEY ("course_code_id") REFERENCES "course_code"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "demo_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "demo_zone_id_fkey" FOREIGN KEY ("zone_id") REFERENCES "dns_zone"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "demo_team_id_created_at_idx" ON "demo"("team_id", "created_at");
CREATE INDEX "demo_course_code_id_created_at_idx" ON "demo"("course_code_id", "created_at");
CREATE INDEX "demo_released_at_idx" ON "demo"("released_at");
-- The rule behind "one demo per label". An ended demo keeps its label until that is released.
CREATE UNIQUE INDEX "demo_one_per_label" ON "demo"("zone_id", "label") WHERE "released_at" IS NULL;
-- Demos that may expire, and those to clear: few rows of all there ever were.
CREATE INDEX "demo_live" ON "demo"("expires_at") WHERE "ended_at" IS NULL;
CREATE INDEX "demo_to_clear" ON "demo"("clear_at") WHERE "ended_at" IS NOT NULL AND "released_at" IS NULL;

-- Bearer tokens of the DNS API. `session_id` has no foreign key: the row of a session is deleted long before the audit log that
-- names the token.
CREATE TABLE "dns_token" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID,
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "within_name" TEXT,
    "within_types" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "demo_id" UUID,
    "created_by" UUID,
    "session_id" UUID,
    CONSTRAINT "dns_token_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "dns_token_acts_for_one" CHECK (num_nonnulls("team_id", "demo_id") = 1),
    CONSTRAINT "dns_token_hash_length" CHECK (octet_length("hash") = 32),
    CONSTRAINT "dns_token_of_session" CHECK ("session_id" IS NULL OR num_nonnulls("team_id", "created_by", "expires_at") = 3),
    CONSTRAINT "dns_token_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "dns_token_demo_id_fkey" FOREIGN KEY ("demo_id") REFERENCES "demo"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "dns_token_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "dns_token_hash_key" ON "dns_token"("hash");
CREATE INDEX "dns_token_team_id_idx" ON "dns_token"("team_id");
CREATE UNIQUE INDEX "dns_token_demo_id_key" ON "dns_token"("demo_id");
CREATE INDEX "dns_token_of_session" ON "dns_token"("session_id") WHERE "session_id" IS NOT NULL;
-- The retention sweep finds tokens that ended long ago.
CREATE INDEX "dns_token_of_ended_demo" ON "dns_token"("revoked_at") WHERE "demo_id" IS NOT NULL;
CREATE INDEX "dns_token_of_ended_session" ON "dns_token"("expires_at") WHERE "session_id" IS NOT NULL;

CREATE TABLE "dns_request_count" (
    "team_id" UUID NOT NULL,
    "minute" TIMESTAMPTZ(3) NOT NULL,
    "process_id" UUID NOT NULL,
    "count" INTEGER NOT NULL,
    CONSTRAINT "dns_request_count_pkey" PRIMARY KEY ("team_id", "minute", "process_id"),
    CONSTRAINT "dns_request_count_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "dns_request_count_minute_idx" ON "dns_request_count"("minute");

-- Gateways keep tokens in memory for a moment. Whoever changes one, by whatever means, tells them at commit.
CREATE FUNCTION "dns_token_notify"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('dns_token_changed', encode(OLD."hash", 'hex'));
  RETURN NULL;
END;
$$;
CREATE TRIGGER "dns_token_changed"
AFTER UPDATE OF "revoked_at", "expires_at", "scopes", "within_name", "within_types", "team_id" OR DELETE ON "dns_token"
FOR EACH ROW EXECUTE FUNCTION "dns_token_notify"();

-- The expiry of a demo is that of its token.
CREATE FUNCTION "demo_notify"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('dns_token_changed', encode("hash", 'hex')) FROM "dns_token" WHERE "demo_id" = NEW."id";
  RETURN NULL;
END;
$$;
CREATE TRIGGER "demo_expiry_changed"
AFTER UPDATE OF "expires_at" ON "demo"
FOR EACH ROW EXECUTE FUNCTION "demo_notify"();

-- The DNS token of a signed-in person ends with the session, however that ends.
CREATE FUNCTION "dns_token_end_with_session"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "dns_token" SET "revoked_at" = clock_timestamp() WHERE "session_id" = OLD."id" AND "revoked_at" IS NULL;
  RETURN NULL;
END;
$$;
CREATE TRIGGER "session_ended" AFTER UPDATE OF "revoked_at" ON "session"
FOR EACH ROW WHEN (NEW."revoked_at" IS NOT NULL) EXECUTE FUNCTION "dns_token_end_with_session"();
CREATE TRIGGER "session_deleted" AFTER DELETE ON "session"
FOR EACH ROW EXECUTE FUNCTION "dns_token_end_with_session"();

-- It also ends with the membership, and when the right to write is taken or given.
CREATE FUNCTION "dns_token_end_with_membership"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "dns_token" SET "revoked_at" = clock_timestamp()
  WHERE "team_id" = OLD."team_id" AND "created_by" = OLD."user_id" AND "session_id" IS NOT NULL AND "revoked_at" IS NULL;
  RETURN NULL;
END;
$$;
CREATE TRIGGER "membership_ended" AFTER DELETE ON "membership"
FOR EACH ROW EXECUTE FUNCTION "dns_token_end_with_membership"();
CREATE TRIGGER "right_to_write_changed" AFTER UPDATE OF "role" ON "membership"
FOR EACH ROW WHEN ((OLD."role"::text = 'viewer') <> (NEW."role"::text = 'viewer')) EXECUTE FUNCTION "dns_token_end_with_membership"();

-- DNS: writes
-- -----------

CREATE TYPE "dns_audit_state" AS ENUM ('pending', 'completed', 'refused', 'unsent', 'settled', 'observed');

CREATE TYPE "dns_actor" AS ENUM ('token', 'upstream', 'course', 'service');

-- The audit log, which is also the ledger of writes in progress.
CREATE TABLE "dns_audit_entry" (
    "id" BIGSERIAL NOT NULL,
    "team_id" UUID,
    "actor" "dns_actor" NOT NULL,
    "token_id" UUID,
    "zone_id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "state" "dns_audit_state" NOT NULL,
    "request_body" TEXT,
    "request_hash" BYTEA,
    "reserved_records" INTEGER NOT NULL DEFAULT 0,
    "upstream_status" INTEGER,
    "upstream_body" TEXT,
    "found_body" TEXT,
    "found_applied" BOOLEAN,
    "answered" BOOLEAN NOT NULL DEFAULT false,
    "lease_until" TIMESTAMPTZ(3),
    "lease_fence" INTEGER NOT NULL DEFAULT 0,
    "recheck_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "completed_at" TIMESTAMPTZ(3),
    "demo_id" UUID,
    "count" INTEGER NOT NULL DEFAULT 1,
    "minute" TIMESTAMPTZ(3),
    "refusal_code" TEXT,
    "found_bytes" INTEGER,
    "found_sha256" BYTEA,
    "request_bytes" INTEGER,
    "request_sha256" BYTEA,
    "upstream_bytes" INTEGER,
    "upstream_sha256" BYTEA,
    "records_ceiling" INTEGER,
    "request_id" TEXT,
    "after_body" TEXT,
    "after_bytes" INTEGER,
    "after_sha256" BYTEA,
    "before_body" TEXT,
    "before_bytes" INTEGER,
    "before_sha256" BYTEA,
    CONSTRAINT "dns_audit_entry_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "dns_audit_entry_counted_is_unsent" CHECK ("count" > 0 AND ("minute" IS NULL OR ("state" = 'unsent' AND "refusal_code" IS NOT NULL))),
    CONSTRAINT "dns_audit_entry_pending_is_leased" CHECK ("state" <> 'pending' OR "lease_until" IS NOT NULL),
    CONSTRAINT "dns_audit_entry_token_acts_for_somebody" CHECK ("actor" <> 'token' OR ("token_id" IS NOT NULL AND num_nonnulls("team_id", "demo_id") > 0)),
    CONSTRAINT "dns_audit_entry_demo_id_fkey" FOREIGN KEY ("demo_id") REFERENCES "demo"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "dns_audit_entry_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "dns_audit_entry_token_id_fkey" FOREIGN KEY ("token_id") REFERENCES "dns_token"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "dns_audit_entry_zone_id_fkey" FOREIGN KEY ("zone_id") REFERENCES "dns_zone"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "dns_audit_entry_team_id_id_idx" ON "dns_audit_entry"("team_id", "id" DESC);
CREATE INDEX "dns_audit_entry_zone_id_name_type_id_idx" ON "dns_audit_entry"("zone_id", "name", "type", "id" DESC);
CREATE INDEX "dns_audit_entry_demo_id_id_idx" ON "dns_audit_entry"("demo_id", "id" DESC);
-- The rule behind "one write at a time per record set", across replicas and crashes.
CREATE UNIQUE INDEX "dns_audit_entry_one_pending_per_rrset" ON "dns_audit_entry"("zone_id", "name", "type") WHERE "state" = 'pending';
-- Settlement reads the entries that are due, which are few.
CREATE INDEX "dns_audit_entry_recheck" ON "dns_audit_entry"("recheck_at") WHERE "recheck_at" IS NOT NULL;
-- Quotas count the pending writes of an owner. A demo's writes are not those of its team.
CREATE INDEX "dns_audit_entry_pending_of_owner" ON "dns_audit_entry"(coalesce("demo_id", "team_id")) WHERE "state" = 'pending';
-- Both logs are read as one, newest first: they have the time in common.
CREATE INDEX "dns_audit_entry_team_id_created_at_id_idx" ON "dns_audit_entry"("team_id", "created_at" DESC, "id" DESC);
-- The retention sweep never reads a table as a whole.
CREATE INDEX "dns_audit_entry_created_at_idx" ON "dns_audit_entry"("created_at");
-- Postgres looks for references when a token goes.
CREATE INDEX "dns_audit_entry_token_id_idx" ON "dns_audit_entry"("token_id");
-- One entry a minute for all writes that were refused alike, whichever gateway counts them.
CREATE UNIQUE INDEX "dns_audit_entry_counted" ON "dns_audit_entry"
("token_id", "zone_id", "name", "type", "operation", "refusal_code", "minute") NULLS NOT DISTINCT
WHERE "minute" IS NOT NULL;
-- Room that a write frees is free once its action has succeeded.
CREATE INDEX "dns_audit_entry_holding_of_owner" ON "dns_audit_entry"(coalesce("demo_id", "team_id"))
WHERE "records_ceiling" IS NOT NULL;
-- Entries with a body to cut, and no others. 16384 is the limit of the contracts.
CREATE INDEX "dns_audit_entry_to_cut" ON "dns_audit_entry"("completed_at") WHERE "state" <> 'pending'
AND (octet_length("request_body") > 16384 OR octet_length("upstream_body") > 16384 OR octet_length("found_body") > 16384
     OR octet_length("before_body") > 16384 OR octet_length("after_body") > 16384);
-- Filters of the audit log: a page is read from one index, however many entries there are.
CREATE INDEX "dns_audit_entry_of_name" ON "dns_audit_entry"("team_id", "name", "created_at", "id");
CREATE INDEX "dns_audit_entry_of_token" ON "dns_audit_entry"("team_id", "token_id", "created_at", "id");
CREATE INDEX "dns_audit_entry_of_few_values" ON "dns_audit_entry"("team_id", "operation", "state", "type", "actor", "created_at", "id");

-- The first bytes of a text, never half a character: the bytes of UTF-8 that go on with one begin with the bits 10.
CREATE FUNCTION "cut_text"("whole" TEXT, "bytes_max" INTEGER) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  "bytes" BYTEA := convert_to("whole", 'UTF8');
  "end" INTEGER := "bytes_max";
BEGIN
  IF octet_length("bytes") <= "bytes_max" THEN
    RETURN "whole";
  END IF;
  WHILE "end" > 0 AND get_byte("bytes", "end") & 192 = 128 LOOP
    "end" := "end" - 1;
  END LOOP;
  RETURN convert_from(substring("bytes" FROM 1 FOR "end"), 'UTF8');
END;
$$;

CREATE TABLE "dns_action" (
    "id" BIGINT NOT NULL,
    "team_id" UUID,
    "audit_entry_id" BIGINT NOT NULL,
    "status" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "checked_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "wanted_at" TIMESTAMPTZ(3),
    "demo_id" UUID,
    CONSTRAINT "dns_action_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "dns_action_is_of_somebody" CHECK (num_nonnulls("team_id", "demo_id") > 0),
    CONSTRAINT "dns_action_audit_entry_id_fkey" FOREIGN KEY ("audit_entry_id") REFERENCES "dns_audit_entry"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "dns_action_demo_id_fkey" FOREIGN KEY ("demo_id") REFERENCES "demo"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "dns_action_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "dns_action_audit_entry_id_idx" ON "dns_action"("audit_entry_id");
-- The few actions that still run, among all that were ever made.
CREATE INDEX "dns_action_running" ON "dns_action"("wanted_at") WHERE "status" = 'running';
-- Found by the retention sweep.
CREATE INDEX "dns_action_started_at_idx" ON "dns_action"("started_at");
-- Postgres looks for references when a demo goes.
CREATE INDEX "dns_action_of_demo" ON "dns_action"("demo_id") WHERE "demo_id" IS NOT NULL;
-- Actions whose end nobody has asked for are looked up, the newest first.
CREATE INDEX "dns_action_unfinished" ON "dns_action"("started_at" DESC, "id" DESC) WHERE "status" = 'running';
-- An owner's actions are listed, the newest first, also those in one state.
CREATE INDEX "dns_action_of_owner" ON "dns_action"(coalesce("demo_id", "team_id"), "id" DESC);
CREATE INDEX "dns_action_of_status" ON "dns_action"(coalesce("demo_id", "team_id"), "status", "id" DESC);

-- Row 1 says when to ask for the actions that clients wait for, row 2 when to ask for all others.
CREATE TABLE "dns_action_poll" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "next_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "dns_action_poll_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "dns_action_poll_is_known" CHECK ("id" IN (1, 2))
);

-- Clusters
-- --------

CREATE TYPE "connection_phase" AS ENUM ('Unverified', 'Ready', 'Rejected');

CREATE TABLE "connection" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "ref" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "provider_config" JSONB NOT NULL,
    "garden_name" TEXT NOT NULL DEFAULT ('k' || substr(md5(gen_random_uuid()::text), 1, 9)),
    "sealed_token" BYTEA NOT NULL,
    "token_key_id" TEXT NOT NULL,
    "token_version" INTEGER NOT NULL DEFAULT 1,
    "garden_token_version" INTEGER NOT NULL DEFAULT 0,
    "generation" INTEGER NOT NULL DEFAULT 1,
    "phase" "connection_phase" NOT NULL DEFAULT 'Unverified',
    "verified_at" TIMESTAMPTZ(3),
    "message" TEXT NOT NULL DEFAULT '',
    "project" JSONB,
    "verify_at" TIMESTAMPTZ(3),
    "verify_failures" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "connection_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "connection_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "connection_garden_name_key" ON "connection"("garden_name");
CREATE INDEX "connection_verify_at_idx" ON "connection"("verify_at");
CREATE UNIQUE INDEX "connection_team_id_ref_key" ON "connection"("team_id", "ref");

CREATE TABLE "price_list" (
    "connection_id" UUID NOT NULL,
    "currency" TEXT,
    "prices" JSONB,
    "priced_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "failures" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "price_list_pkey" PRIMARY KEY ("connection_id"),
    CONSTRAINT "price_list_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connection"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "price_list_due_at_idx" ON "price_list"("due_at");

-- Credentials of deleted connections that the garden may still have.
CREATE TABLE "garden_cleanup" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID,
    "namespace" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "garden_cleanup_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "garden_cleanup_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE SET NULL ON UPDATE CASCADE
);
CREATE INDEX "garden_cleanup_team_id_idx" ON "garden_cleanup"("team_id");
CREATE INDEX "garden_cleanup_due_at_idx" ON "garden_cleanup"("due_at");

CREATE TABLE "cluster" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "connection_id" UUID NOT NULL,
    "shoot_name" TEXT NOT NULL DEFAULT ('c' || substr(md5(gen_random_uuid()::text), 1, 7)),
    "spec" JSONB NOT NULL,
    "desired_hash" TEXT NOT NULL,
    "generation" INTEGER NOT NULL DEFAULT 1,
    "started_at" TIMESTAMPTZ(3),
    "deletion_requested_at" TIMESTAMPTZ(3),
    "observed_generation" INTEGER NOT NULL DEFAULT 0,
    "phase" TEXT NOT NULL DEFAULT 'Draft',
    "seed_name" TEXT,
    "migration_phase" TEXT,
    "conditions" JSONB NOT NULL DEFAULT '[]',
    "revision" INTEGER NOT NULL DEFAULT 1,
    "pinned_version" TEXT,
    "shoot_uid" TEXT,
    "applied_generation" INTEGER NOT NULL DEFAULT 0,
    "applied_shoot_generation" BIGINT,
    "applied_at" TIMESTAMPTZ(3),
    "applied_token_version" INTEGER NOT NULL DEFAULT 0,
    "retried_generation" INTEGER NOT NULL DEFAULT 0,
    "observed_hash" TEXT,
    "due_at" TIMESTAMPTZ(3),
    "lease_until" TIMESTAMPTZ(3),
    "lease_fence" INTEGER NOT NULL DEFAULT 0,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "waiting" JSONB,
    "observed" JSONB,
    "node_counts" JSONB,
    "nodes_due_at" TIMESTAMPTZ(3),
    "kept_generation" INTEGER,
    "sighted_hash" TEXT,
    CONSTRAINT "cluster_pkey" PRIMARY KEY ("id"),
    -- What was seen or sent cannot be newer than what was asked for.
    CONSTRAINT "cluster_generations" CHECK ("observed_generation" <= "generation" AND "applied_generation" <= "generation"),
    CONSTRAINT "cluster_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connection"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "cluster_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "cluster_shoot_name_key" ON "cluster"("shoot_name");
CREATE INDEX "cluster_connection_id_idx" ON "cluster"("connection_id");
CREATE INDEX "cluster_due_at_idx" ON "cluster"("due_at");
CREATE UNIQUE INDEX "cluster_team_id_name_key" ON "cluster"("team_id", "name");
CREATE INDEX "cluster_nodes_due_at_idx" ON "cluster"("nodes_due_at");
-- Whether a cluster waits for the garden is asked every other second.
CREATE INDEX "cluster_waiting" ON "cluster"(("waiting"->>'reason')) WHERE "waiting" IS NOT NULL;

CREATE TABLE "node_pool" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "cluster_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "worker_name" TEXT NOT NULL DEFAULT ('p' || substr(md5(gen_random_uuid()::text), 1, 5)),
    "position" INTEGER NOT NULL,
    "source" TEXT NOT NULL,
    "machine_type" TEXT NOT NULL,
    "image" JSONB NOT NULL,
    "minimum" INTEGER NOT NULL,
    "maximum" INTEGER NOT NULL,
    "public_ip" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "autoscaler_priority" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT "node_pool_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "node_pool_cluster_id_fkey" FOREIGN KEY ("cluster_id") REFERENCES "cluster"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "node_pool_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "node_pool_cluster_id_name_key" ON "node_pool"("cluster_id", "name");
CREATE UNIQUE INDEX "node_pool_cluster_id_worker_name_key" ON "node_pool"("cluster_id", "worker_name");

CREATE TABLE "adopted_server" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "connection_id" UUID NOT NULL,
    "server_id" BIGINT NOT NULL,
    "server_type" TEXT NOT NULL,
    "location" TEXT NOT NULL,
    "architecture" TEXT NOT NULL,
    "server_kind" TEXT NOT NULL,
    "phase" TEXT NOT NULL DEFAULT 'Adopting',
    "node_pool_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "acknowledged_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "acknowledged_by" UUID,
    "adopted_at" TIMESTAMPTZ(3),
    "claim_token" TEXT NOT NULL DEFAULT gen_random_uuid(),
    "claimed_at" TIMESTAMPTZ(3),
    "deregister_requested_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "generation" INTEGER NOT NULL DEFAULT 1,
    "image" TEXT,
    "lease_fence" INTEGER NOT NULL DEFAULT 0,
    "lease_until" TIMESTAMPTZ(3),
    "message" TEXT NOT NULL DEFAULT '',
    "name" TEXT NOT NULL DEFAULT '',
    "observed_at" TIMESTAMPTZ(3),
    "operation_id" UUID,
    "rebuild_action_id" BIGINT,
    "rebuild_asked_at" TIMESTAMPTZ(3),
    "begun_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "member_of_id" UUID,
    "node_name" TEXT,
    "node_ready" BOOLEAN NOT NULL DEFAULT false,
    "purpose" TEXT NOT NULL DEFAULT 'adopt',
    "unread_hold_id" UUID,
    CONSTRAINT "adopted_server_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "adopted_server_purpose_check" CHECK ("purpose" IN ('adopt', 'join', 'leave')),
    CONSTRAINT "adopted_server_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connection"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "adopted_server_member_of_id_fkey" FOREIGN KEY ("member_of_id") REFERENCES "cluster"("id") ON DELETE SET NULL ON UPDATE CASCADE,
    CONSTRAINT "adopted_server_node_pool_id_fkey" FOREIGN KEY ("node_pool_id") REFERENCES "node_pool"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "adopted_server_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "adopted_server_unread_hold_id_fkey" FOREIGN KEY ("unread_hold_id") REFERENCES "installation_hold"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "adopted_server_connection_id_idx" ON "adopted_server"("connection_id");
CREATE INDEX "adopted_server_node_pool_id_idx" ON "adopted_server"("node_pool_id");
CREATE INDEX "adopted_server_due_at_idx" ON "adopted_server"("due_at");
CREATE INDEX "adopted_server_member_of_id_idx" ON "adopted_server"("member_of_id");
-- The number of a cloud server is checked with its provider, and has one owner in the whole system. That of another machine
-- is chosen by the team: it is unique in the team.
CREATE UNIQUE INDEX "adopted_server_team_id_server_id_key" ON "adopted_server"("team_id", "server_id");
CREATE UNIQUE INDEX "adopted_server_one_owner_per_cloud_server" ON "adopted_server"("server_id") WHERE "server_kind" = 'cloud';

-- Operations
-- ----------

CREATE TYPE "operation_state" AS ENUM ('queued', 'running', 'succeeded', 'failed', 'superseded', 'cancelled');

CREATE TABLE "operation" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "target_kind" TEXT NOT NULL,
    "target_id" UUID NOT NULL,
    "target_name" TEXT NOT NULL,
    "generation" INTEGER NOT NULL,
    "state" "operation_state" NOT NULL,
    "progress" INTEGER NOT NULL DEFAULT 0,
    "error" JSONB NOT NULL DEFAULT '{}',
    "desired_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),
    "waiting" JSONB,
    "created_by" UUID,
    "traceparent" TEXT,
    "is_counted" BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT "operation_pkey" PRIMARY KEY ("id"),
    -- Promises of the operation resource that no code path may break.
    CONSTRAINT "operation_progress" CHECK ("progress" BETWEEN 0 AND 100 AND ("progress" = 100) = ("state" = 'succeeded')),
    CONSTRAINT "operation_traceparent_is_short" CHECK (length("traceparent") = 55),
    CONSTRAINT "operation_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "operation_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "operation_team_id_created_at_id_idx" ON "operation"("team_id", "created_at" DESC, "id");
CREATE INDEX "operation_target_id_generation_idx" ON "operation"("target_id", "generation");
-- Found by the retention sweep.
CREATE INDEX "operation_finished_at_idx" ON "operation"("finished_at");
-- Ended operations are counted once, by whichever process finds them.
CREATE INDEX "operation_to_count" ON "operation"("finished_at") WHERE "finished_at" IS NOT NULL AND NOT "is_counted";
-- Lists of a state. Few operations are open, or were cancelled, among all that a team had.
CREATE INDEX "operation_of_state" ON "operation"("team_id", "state", "created_at" DESC, "id");
-- Lists of a target, by name or id. Without it all operations of the team are read, because a name might be an id.
CREATE INDEX "operation_of_target" ON "operation"("team_id", "target_name", "created_at" DESC, "id");

-- An ended operation does not change. Two exceptions: it is marked as counted, and a failed one succeeds when its work is done after
-- all, because a token was replaced or the garden had stock again.
CREATE FUNCTION "operation_keep_final"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD."state" NOT IN ('queued', 'running')
     AND NOT (OLD."state" = 'failed' AND NEW."state" = 'succeeded')
     AND to_jsonb(OLD) - 'is_counted' IS DISTINCT FROM to_jsonb(NEW) - 'is_counted' THEN
    RAISE EXCEPTION 'operation % is %: a final state never changes', OLD."id", OLD."state";
  END IF;
  IF NEW."progress" < OLD."progress" THEN
    RAISE EXCEPTION 'operation %: progress never falls', OLD."id";
  END IF;
  RETURN NEW;
END;
$$;
CREATE TRIGGER "operation_final"
BEFORE UPDATE ON "operation"
FOR EACH ROW EXECUTE FUNCTION "operation_keep_final"();

-- Totals since the installation began to count. They only grow.
CREATE TABLE "operation_total" (
    "kind" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "ended" BIGINT NOT NULL,
    "late" BIGINT NOT NULL,
    "seconds" DOUBLE PRECISION NOT NULL,
    CONSTRAINT "operation_total_pkey" PRIMARY KEY ("kind", "outcome")
);

-- The audit log of the cluster API
-- --------------------------------

CREATE TABLE "audit_entry" (
    "id" BIGSERIAL NOT NULL,
    "team_id" UUID NOT NULL,
    "user_id" UUID,
    "action" TEXT NOT NULL,
    "target_kind" TEXT NOT NULL,
    "target_id" UUID NOT NULL,
    "target_name" TEXT NOT NULL,
    "request_id" TEXT,
    "detail" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "changes" JSONB,
    "operator" TEXT,
    "account" JSONB,
    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "audit_entry_operator_is_short" CHECK (length("operator") BETWEEN 1 AND 100),
    CONSTRAINT "audit_entry_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "audit_entry_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "audit_entry_target_id_action_created_at_idx" ON "audit_entry"("target_id", "action", "created_at");
-- Both logs are read as one, newest first: they have the time in common.
CREATE INDEX "audit_entry_team_id_created_at_id_idx" ON "audit_entry"("team_id", "created_at" DESC, "id" DESC);
-- The retention sweep never reads a table as a whole.
CREATE INDEX "audit_entry_created_at_idx" ON "audit_entry"("created_at");
-- Few entries are by operators, and those of all teams are read together.
CREATE INDEX "audit_entry_operator_idx" ON "audit_entry"("created_at") WHERE "operator" IS NOT NULL;
-- Filters of the audit log: a page is read from one index, however many entries there are.
CREATE INDEX "audit_entry_of_name" ON "audit_entry"("team_id", "target_name", "created_at", "id");
CREATE INDEX "audit_entry_of_action" ON "audit_entry"("team_id", "action", "created_at", "id");
CREATE INDEX "audit_entry_of_user" ON "audit_entry"("team_id", "user_id", "created_at", "id");
CREATE INDEX "audit_entry_of_actor" ON "audit_entry"("team_id", (CASE WHEN "user_id" IS NOT NULL THEN 'user' WHEN "account" IS NOT NULL THEN 'account'
  WHEN "operator" IS NOT NULL THEN 'operator' ELSE 'service' END), "created_at", "id");
CREATE INDEX "audit_entry_of_outcome" ON "audit_entry"("team_id", (CASE WHEN "action" = 'service_account.refuse_exchange' THEN 'refused'
  WHEN "action" <> 'kubeconfig.issue' OR "detail"->'issued' = 'true'::jsonb THEN 'completed'
  WHEN "detail"->'issued' = 'false'::jsonb THEN 'refused' ELSE 'pending' END), "created_at", "id");

-- Live changes
-- ------------

-- Live changes: the row of an event commits with the change, whatever process writes, and the notification follows.
CREATE TABLE "team_event" (
    "id" BIGSERIAL NOT NULL,
    "xid" BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text)::bigint,
    "team_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "target_id" TEXT NOT NULL,
    "target_name" TEXT NOT NULL,
    "change" TEXT NOT NULL,
    "parent_name" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "owner_id" UUID,
    CONSTRAINT "team_event_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "team_event_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "team_event_team_id_xid_id_idx" ON "team_event"("team_id", "xid", "id");
CREATE INDEX "team_event_created_at_idx" ON "team_event"("created_at");

-- Targets are known by texts: not all have uuids. An event that only some may read names its owner. Nothing is told of a team that is
-- deleted in the same transaction. Transactions that notify commit one after the other, for which DNS writes are too many: whoever
-- listens looks for record sets every second.
CREATE FUNCTION "team_event_tell"(
  "team" UUID, "kind" TEXT, "target" TEXT, "name" TEXT, "change" TEXT, "parent" TEXT, "owner" UUID
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "team_event" ("team_id", "kind", "target_id", "target_name", "change", "parent_name", "owner_id")
  SELECT "team"."id", "team_event_tell"."kind", "target", "team_event_tell"."name", "change", "parent", "owner"
  FROM "team" WHERE "team"."id" = "team_event_tell"."team";
  IF FOUND AND "kind" <> 'RecordSet' THEN
    PERFORM pg_notify('team_event', "team"::text);
  END IF;
END;
$$;

-- The same for a target with a uuid, of which all members are told.
CREATE FUNCTION "team_event_tell"(
  "team" UUID, "kind" TEXT, "target" UUID, "name" TEXT, "change" TEXT, "parent" TEXT
) RETURNS void LANGUAGE sql AS $$
  SELECT "team_event_tell"("team", "kind", "target"::text, "name", "change", "parent", NULL::uuid);
$$;

CREATE FUNCTION "cluster_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM "team_event_tell"(OLD."team_id", 'Cluster', OLD."id", OLD."name", 'deleted', NULL);
  ELSE
    PERFORM "team_event_tell"(NEW."team_id", 'Cluster', NEW."id", NEW."name", 'changed', NULL);
  END IF;
  RETURN NULL;
END;
$$;
CREATE TRIGGER "cluster_event_made" AFTER INSERT OR DELETE ON "cluster"
FOR EACH ROW EXECUTE FUNCTION "cluster_event"();
CREATE TRIGGER "cluster_event_changed" AFTER UPDATE ON "cluster"
FOR EACH ROW WHEN (OLD."revision" <> NEW."revision") EXECUTE FUNCTION "cluster_event"();

CREATE FUNCTION "node_pool_event"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  "pool" RECORD;
BEGIN
  "pool" := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  PERFORM "team_event_tell"(
    "pool"."team_id", 'NodePool', "pool"."id", "pool"."name",
    CASE WHEN TG_OP = 'DELETE' THEN 'deleted' ELSE 'changed' END,
    (SELECT "name" FROM "cluster" WHERE "id" = "pool"."cluster_id")
  );
  RETURN NULL;
END;
$$;
CREATE TRIGGER "node_pool_event_made" AFTER INSERT OR DELETE ON "node_pool"
FOR EACH ROW EXECUTE FUNCTION "node_pool_event"();
CREATE TRIGGER "node_pool_event_changed" AFTER UPDATE ON "node_pool"
FOR EACH ROW WHEN (
  (OLD."name", OLD."source", OLD."machine_type", OLD."image", OLD."minimum", OLD."maximum", OLD."public_ip")
  IS DISTINCT FROM
  (NEW."name", NEW."source", NEW."machine_type", NEW."image", NEW."minimum", NEW."maximum", NEW."public_ip")
) EXECUTE FUNCTION "node_pool_event"();

-- What an operation waits for is part of it.
CREATE FUNCTION "operation_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM "team_event_tell"(NEW."team_id", 'Operation', NEW."id", NEW."target_name", 'changed', NULL);
  RETURN NULL;
END;
$$;
CREATE TRIGGER "operation_event_made" AFTER INSERT ON "operation"
FOR EACH ROW EXECUTE FUNCTION "operation_event"();
CREATE TRIGGER "operation_event_changed" AFTER UPDATE ON "operation"
FOR EACH ROW WHEN (
  (OLD."state", OLD."progress", OLD."error", OLD."waiting")
  IS DISTINCT FROM (NEW."state", NEW."progress", NEW."error", NEW."waiting")
) EXECUTE FUNCTION "operation_event"();

-- How many nodes back a pool is read from its servers, so a pool reads differently when one of them does.
CREATE FUNCTION "adopted_server_event"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  "server" RECORD;
BEGIN
  "server" := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  PERFORM "team_event_tell"(
    "server"."team_id", 'AdoptedServer', "server"."id", "server"."server_id"::text,
    CASE WHEN TG_OP = 'DELETE' THEN 'deleted' ELSE 'changed' END,
    (SELECT "ref" FROM "connection" WHERE "id" = "server"."connection_id")
  );
  IF TG_OP = 'UPDATE' AND (OLD."node_pool_id", OLD."node_ready") IS DISTINCT FROM (NEW."node_pool_id", NEW."node_ready") THEN
    PERFORM "team_event_tell"(
      "node_pool"."team_id", 'NodePool', "node_pool"."id", "node_pool"."name", 'changed', "cluster"."name"
    )
    FROM "node_pool" JOIN "cluster" ON "cluster"."id" = "node_pool"."cluster_id"
    WHERE "node_pool"."id" IN (OLD."node_pool_id", NEW."node_pool_id");
  END IF;
  RETURN NULL;
END;
$$;
CREATE TRIGGER "adopted_server_event_made" AFTER INSERT OR DELETE ON "adopted_server"
FOR EACH ROW EXECUTE FUNCTION "adopted_server_event"();
CREATE TRIGGER "adopted_server_event_changed" AFTER UPDATE ON "adopted_server"
FOR EACH ROW WHEN (
  (OLD."phase", OLD."message", OLD."name", OLD."node_pool_id", OLD."node_ready", OLD."generation", OLD."deregister_requested_at")
  IS DISTINCT FROM
  (NEW."phase", NEW."message", NEW."name", NEW."node_pool_id", NEW."node_ready", NEW."generation", NEW."deregister_requested_at")
) EXECUTE FUNCTION "adopted_server_event"();

-- A token that is sealed anew, or due to be verified, reads the same.
CREATE FUNCTION "connection_event"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  "connection" RECORD;
BEGIN
  "connection" := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  PERFORM "team_event_tell"(
    "connection"."team_id", 'Connection', "connection"."id"::text, "connection"."ref",
    CASE WHEN TG_OP = 'DELETE' THEN 'deleted' ELSE 'changed' END, NULL, NULL
  );
  RETURN NULL;
END;
$$;
CREATE TRIGGER "connection_event_made" AFTER INSERT OR DELETE ON "connection"
FOR EACH ROW EXECUTE FUNCTION "connection_event"();
CREATE TRIGGER "connection_event_changed" AFTER UPDATE ON "connection"
FOR EACH ROW WHEN (
  (OLD."ref", OLD."name", OLD."provider", OLD."provider_config", OLD."generation", OLD."phase", OLD."verified_at",
   OLD."message", OLD."project")
  IS DISTINCT FROM
  (NEW."ref", NEW."name", NEW."provider", NEW."provider_config", NEW."generation", NEW."phase", NEW."verified_at",
   NEW."message", NEW."project")
) EXECUTE FUNCTION "connection_event"();

-- The currency of a project is told with its connection.
CREATE FUNCTION "price_list_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM "team_event_tell"("team_id", 'Connection', "id"::text, "ref", 'changed', NULL, NULL)
  FROM "connection" WHERE "id" = NEW."connection_id";
  RETURN NULL;
END;
$$;
CREATE TRIGGER "price_list_event_changed" AFTER UPDATE ON "price_list"
FOR EACH ROW WHEN (OLD."currency" IS DISTINCT FROM NEW."currency") EXECUTE FUNCTION "price_list_event"();

-- Only the digest of a token is stored, and that is no part of what is told. Nor is its use. Lists do not show the tokens of sessions,
-- so nor do live changes.
CREATE FUNCTION "dns_token_event"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  "token" RECORD;
BEGIN
  "token" := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  IF "token"."team_id" IS NOT NULL AND "token"."session_id" IS NULL THEN
    PERFORM "team_event_tell"(
      "token"."team_id", 'DnsToken', "token"."id"::text, "token"."name",
      CASE WHEN TG_OP = 'DELETE' THEN 'deleted' ELSE 'changed' END, NULL, "token"."created_by"
    );
  END IF;
  RETURN NULL;
END;
$$;
CREATE TRIGGER "dns_token_event_made" AFTER INSERT OR DELETE ON "dns_token"
FOR EACH ROW EXECUTE FUNCTION "dns_token_event"();
CREATE TRIGGER "dns_token_event_changed" AFTER UPDATE ON "dns_token"
FOR EACH ROW WHEN (
  (OLD."name", OLD."scopes", OLD."within_name", OLD."within_types", OLD."created_by", OLD."expires_at", OLD."revoked_at")
  IS DISTINCT FROM
  (NEW."name", NEW."scopes", NEW."within_name", NEW."within_types", NEW."created_by", NEW."expires_at", NEW."revoked_at")
) EXECUTE FUNCTION "dns_token_event"();

-- The mirror is written by gateways, settlements and syncs. Nobody is told about the sets of demos.
CREATE FUNCTION "dns_rrset_event"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  "rrset" RECORD;
BEGIN
  "rrset" := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  PERFORM "team_event_tell"(
    "team"."id", 'RecordSet', "rrset"."name" || '/' || "rrset"."type", "rrset"."name",
    CASE WHEN TG_OP = 'DELETE' THEN 'deleted' ELSE 'changed' END, "dns_zone"."name", NULL
  )
  FROM "team", "dns_zone"
  WHERE "team"."slug" = "rrset"."owner_label" AND "dns_zone"."id" = "rrset"."zone_id" AND NOT "dns_zone"."of_demos";
  RETURN NULL;
END;
$$;
CREATE TRIGGER "dns_rrset_event_made" AFTER INSERT OR DELETE ON "dns_rrset"
FOR EACH ROW EXECUTE FUNCTION "dns_rrset_event"();
CREATE TRIGGER "dns_rrset_event_changed" AFTER UPDATE ON "dns_rrset"
FOR EACH ROW WHEN (OLD."body" <> NEW."body") EXECUTE FUNCTION "dns_rrset_event"();

-- A person as answers call them.
CREATE FUNCTION "app_user_name"("person" "app_user") RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    nullif("person"."display_name", ''),
    nullif(trim("person"."first_name" || ' ' || "person"."last_name"), ''),
    "person"."email"
  );
$$;

-- A person who is deleted takes the name along.
CREATE FUNCTION "membership_event"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  "member" RECORD;
BEGIN
  "member" := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  PERFORM "team_event_tell"(
    "member"."team_id", 'Member', "member"."number"::text,
    coalesce((SELECT "app_user_name"("app_user") FROM "app_user" WHERE "id" = "member"."user_id"), "member"."number"::text),
    CASE WHEN TG_OP = 'DELETE' THEN 'deleted' ELSE 'changed' END, NULL, NULL
  );
  RETURN NULL;
END;
$$;
CREATE TRIGGER "membership_event_made" AFTER INSERT OR DELETE ON "membership"
FOR EACH ROW EXECUTE FUNCTION "membership_event"();
CREATE TRIGGER "membership_event_changed" AFTER UPDATE ON "membership"
FOR EACH ROW WHEN (OLD."role" <> NEW."role") EXECUTE FUNCTION "membership_event"();

CREATE FUNCTION "app_user_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM "team_event_tell"("team_id", 'Member', "number"::text, "app_user_name"(NEW), 'changed', NULL, NULL)
  FROM "membership" WHERE "user_id" = NEW."id" ORDER BY "team_id";
  RETURN NULL;
END;
$$;
CREATE TRIGGER "app_user_event_changed" AFTER UPDATE ON "app_user"
FOR EACH ROW WHEN (
  (OLD."email", OLD."first_name", OLD."last_name", OLD."display_name")
  IS DISTINCT FROM (NEW."email", NEW."first_name", NEW."last_name", NEW."display_name")
) EXECUTE FUNCTION "app_user_event"();
