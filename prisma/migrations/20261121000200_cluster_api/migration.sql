-- CreateEnum
CREATE TYPE "team_role" AS ENUM ('member', 'admin');

-- CreateEnum
CREATE TYPE "connection_phase" AS ENUM ('Unverified', 'Ready', 'Rejected');

-- CreateEnum
CREATE TYPE "operation_state" AS ENUM ('queued', 'running', 'succeeded', 'failed', 'superseded', 'cancelled');

-- AlterTable
ALTER TABLE "team" ADD COLUMN     "adopted_servers_max" INTEGER,
ADD COLUMN     "clusters_max" INTEGER,
ADD COLUMN     "name" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "nodes_per_cluster_max" INTEGER,
ADD COLUMN     "number" SERIAL NOT NULL,
ADD COLUMN     "pools_per_cluster_max" INTEGER,
ADD COLUMN     "project_name" TEXT NOT NULL DEFAULT ('t'::text || substr(md5((gen_random_uuid())::text), 1, 7)),
ADD COLUMN     "project_namespace" TEXT;

-- CreateTable
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

-- CreateTable
CREATE TABLE "membership" (
    "team_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "number" SERIAL NOT NULL,
    "role" "team_role" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "membership_pkey" PRIMARY KEY ("team_id","user_id")
);

-- CreateTable
CREATE TABLE "session" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "user_id" UUID NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "idle_expires_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
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

    CONSTRAINT "invitation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "connection" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "ref" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "provider_config" JSONB NOT NULL,
    "garden_name" TEXT NOT NULL DEFAULT ('k'::text || substr(md5((gen_random_uuid())::text), 1, 9)),
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

    CONSTRAINT "connection_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "cluster" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "connection_id" UUID NOT NULL,
    "shoot_name" TEXT NOT NULL DEFAULT ('c'::text || substr(md5((gen_random_uuid())::text), 1, 7)),
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

    CONSTRAINT "cluster_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "node_pool" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "team_id" UUID NOT NULL,
    "cluster_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "worker_name" TEXT NOT NULL DEFAULT ('p'::text || substr(md5((gen_random_uuid())::text), 1, 5)),
    "position" INTEGER NOT NULL,
    "source" TEXT NOT NULL,
    "machine_type" TEXT NOT NULL,
    "image" JSONB NOT NULL,
    "minimum" INTEGER NOT NULL,
    "maximum" INTEGER NOT NULL,
    "public_ip" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "node_pool_pkey" PRIMARY KEY ("id")
);

-- CreateTable
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

    CONSTRAINT "operation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
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

    CONSTRAINT "adopted_server_pkey" PRIMARY KEY ("id")
);

-- CreateTable
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

    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_key" (
    "team_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" BYTEA NOT NULL,
    "resource_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("team_id","user_id","key")
);

-- CreateTable
CREATE TABLE "leadership" (
    "name" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "fence" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "leadership_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE UNIQUE INDEX "app_user_number_key" ON "app_user"("number");

-- CreateIndex
CREATE UNIQUE INDEX "app_user_email_key" ON "app_user"("email");

-- CreateIndex
CREATE UNIQUE INDEX "membership_number_key" ON "membership"("number");

-- CreateIndex
CREATE INDEX "membership_user_id_idx" ON "membership"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "session_hash_key" ON "session"("hash");

-- CreateIndex
CREATE INDEX "session_user_id_idx" ON "session"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "invitation_team_id_email_key" ON "invitation"("team_id", "email");

-- CreateIndex
CREATE UNIQUE INDEX "connection_garden_name_key" ON "connection"("garden_name");

-- CreateIndex
CREATE INDEX "connection_verify_at_idx" ON "connection"("verify_at");

-- CreateIndex
CREATE UNIQUE INDEX "connection_team_id_ref_key" ON "connection"("team_id", "ref");

-- CreateIndex
CREATE UNIQUE INDEX "cluster_shoot_name_key" ON "cluster"("shoot_name");

-- CreateIndex
CREATE INDEX "cluster_connection_id_idx" ON "cluster"("connection_id");

-- CreateIndex
CREATE INDEX "cluster_due_at_idx" ON "cluster"("due_at");

-- CreateIndex
CREATE UNIQUE INDEX "cluster_team_id_name_key" ON "cluster"("team_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "node_pool_cluster_id_name_key" ON "node_pool"("cluster_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "node_pool_cluster_id_worker_name_key" ON "node_pool"("cluster_id", "worker_name");

-- CreateIndex
CREATE INDEX "operation_team_id_created_at_id_idx" ON "operation"("team_id", "created_at" DESC, "id");

-- CreateIndex
CREATE INDEX "operation_target_id_generation_idx" ON "operation"("target_id", "generation");

-- CreateIndex
CREATE UNIQUE INDEX "adopted_server_server_id_key" ON "adopted_server"("server_id");

-- CreateIndex
CREATE INDEX "adopted_server_team_id_idx" ON "adopted_server"("team_id");

-- CreateIndex
CREATE INDEX "adopted_server_connection_id_idx" ON "adopted_server"("connection_id");

-- CreateIndex
CREATE INDEX "adopted_server_node_pool_id_idx" ON "adopted_server"("node_pool_id");

-- CreateIndex
CREATE INDEX "audit_entry_team_id_id_idx" ON "audit_entry"("team_id", "id" DESC);

-- CreateIndex
CREATE INDEX "audit_entry_target_id_action_created_at_idx" ON "audit_entry"("target_id", "action", "created_at");

-- CreateIndex
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "team_number_key" ON "team"("number");

-- CreateIndex
CREATE UNIQUE INDEX "team_project_name_key" ON "team"("project_name");

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "session" ADD CONSTRAINT "session_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitation" ADD CONSTRAINT "invitation_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitation" ADD CONSTRAINT "invitation_invited_by_fkey" FOREIGN KEY ("invited_by") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "connection" ADD CONSTRAINT "connection_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "cluster" ADD CONSTRAINT "cluster_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "cluster" ADD CONSTRAINT "cluster_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connection"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "node_pool" ADD CONSTRAINT "node_pool_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "node_pool" ADD CONSTRAINT "node_pool_cluster_id_fkey" FOREIGN KEY ("cluster_id") REFERENCES "cluster"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "operation" ADD CONSTRAINT "operation_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "adopted_server" ADD CONSTRAINT "adopted_server_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "adopted_server" ADD CONSTRAINT "adopted_server_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connection"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "adopted_server" ADD CONSTRAINT "adopted_server_node_pool_id_fkey" FOREIGN KEY ("node_pool_id") REFERENCES "node_pool"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "audit_entry" ADD CONSTRAINT "audit_entry_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "audit_entry" ADD CONSTRAINT "audit_entry_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Promises of the operation resource that no code path may break.
ALTER TABLE "operation" ADD CONSTRAINT "operation_progress"
CHECK ("progress" BETWEEN 0 AND 100 AND ("progress" = 100) = ("state" = 'succeeded'));

CREATE FUNCTION "operation_keep_final"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD."state" NOT IN ('queued', 'running') THEN
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

-- What was seen or sent cannot be newer than what was asked for.
ALTER TABLE "cluster" ADD CONSTRAINT "cluster_generations"
CHECK ("observed_generation" <= "generation" AND "applied_generation" <= "generation");
