-- CreateEnum
CREATE TYPE "dns_audit_state" AS ENUM ('pending', 'completed', 'refused', 'unsent', 'settled', 'observed');
CREATE TYPE "dns_actor" AS ENUM ('token', 'upstream');
CREATE TYPE "dns_sync_state" AS ENUM ('running', 'succeeded', 'failed');

CREATE TABLE "team" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "slug" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "team_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "team_slug_form" CHECK ("slug" ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')
);
CREATE UNIQUE INDEX "team_slug_key" ON "team"("slug");

CREATE TABLE "dns_token" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "within_name" TEXT,
    "within_types" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    CONSTRAINT "dns_token_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "dns_token_hash_length" CHECK (octet_length("hash") = 32)
);
CREATE UNIQUE INDEX "dns_token_hash_key" ON "dns_token"("hash");
CREATE INDEX "dns_token_team_id_idx" ON "dns_token"("team_id");

CREATE TABLE "dns_zone" (
    "id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "synced_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "dns_zone_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "dns_zone_name_key" ON "dns_zone"("name");

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
    CONSTRAINT "dns_rrset_record_count_positive" CHECK ("record_count" > 0)
);
CREATE INDEX "dns_rrset_zone_id_owner_label_name_type_idx" ON "dns_rrset"("zone_id", "owner_label", "name", "type");

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
    CONSTRAINT "dns_audit_entry_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "dns_audit_entry_pending_is_leased" CHECK ("state" <> 'pending' OR "lease_until" IS NOT NULL),
    CONSTRAINT "dns_audit_entry_token_acts_for_team" CHECK ("actor" <> 'token' OR ("team_id" IS NOT NULL AND "token_id" IS NOT NULL))
);
CREATE INDEX "dns_audit_entry_team_id_id_idx" ON "dns_audit_entry"("team_id", "id" DESC);
CREATE INDEX "dns_audit_entry_zone_id_name_type_id_idx" ON "dns_audit_entry"("zone_id", "name", "type", "id" DESC);

-- The rule behind "one write at a time per record set": it holds across replicas and crashes.
CREATE UNIQUE INDEX "dns_audit_entry_one_pending_per_rrset" ON "dns_audit_entry"("zone_id", "name", "type") WHERE "state" = 'pending';
-- Quota counts read a team's pending entries, the settlement reads the due ones; both stay small.
CREATE INDEX "dns_audit_entry_pending_of_team" ON "dns_audit_entry"("team_id") WHERE "state" = 'pending';
CREATE INDEX "dns_audit_entry_recheck" ON "dns_audit_entry"("recheck_at") WHERE "recheck_at" IS NOT NULL;

CREATE TABLE "dns_action" (
    "id" BIGINT NOT NULL,
    "team_id" UUID NOT NULL,
    "audit_entry_id" BIGINT NOT NULL,
    "status" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "checked_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "dns_action_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "dns_action_audit_entry_id_idx" ON "dns_action"("audit_entry_id");

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
    CONSTRAINT "dns_sync_run_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "dns_sync_run_zone_name_started_at_idx" ON "dns_sync_run"("zone_name", "started_at" DESC);

ALTER TABLE "dns_token" ADD CONSTRAINT "dns_token_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_rrset" ADD CONSTRAINT "dns_rrset_zone_id_fkey" FOREIGN KEY ("zone_id") REFERENCES "dns_zone"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_audit_entry" ADD CONSTRAINT "dns_audit_entry_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_audit_entry" ADD CONSTRAINT "dns_audit_entry_token_id_fkey" FOREIGN KEY ("token_id") REFERENCES "dns_token"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_audit_entry" ADD CONSTRAINT "dns_audit_entry_zone_id_fkey" FOREIGN KEY ("zone_id") REFERENCES "dns_zone"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_action" ADD CONSTRAINT "dns_action_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_action" ADD CONSTRAINT "dns_action_audit_entry_id_fkey" FOREIGN KEY ("audit_entry_id") REFERENCES "dns_audit_entry"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_sync_run" ADD CONSTRAINT "dns_sync_run_zone_id_fkey" FOREIGN KEY ("zone_id") REFERENCES "dns_zone"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
