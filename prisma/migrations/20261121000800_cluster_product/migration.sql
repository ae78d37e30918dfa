-- AlterTable
ALTER TABLE "adopted_server" ADD COLUMN     "acknowledged_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN     "acknowledged_by" UUID,
ADD COLUMN     "adopted_at" TIMESTAMPTZ(3),
ADD COLUMN     "claim_token" TEXT NOT NULL DEFAULT gen_random_uuid(),
ADD COLUMN     "claimed_at" TIMESTAMPTZ(3),
ADD COLUMN     "deregister_requested_at" TIMESTAMPTZ(3),
ADD COLUMN     "due_at" TIMESTAMPTZ(3),
ADD COLUMN     "failures" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "generation" INTEGER NOT NULL DEFAULT 1,
ADD COLUMN     "image" TEXT,
ADD COLUMN     "lease_fence" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "lease_until" TIMESTAMPTZ(3),
ADD COLUMN     "message" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "name" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "observed_at" TIMESTAMPTZ(3),
ADD COLUMN     "operation_id" UUID,
ADD COLUMN     "rebuild_action_id" BIGINT,
ADD COLUMN     "rebuild_asked_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "invitation" ADD COLUMN     "mail_due_at" TIMESTAMPTZ(3),
ADD COLUMN     "mail_failures" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "mail_sent_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "session" ADD COLUMN     "method" TEXT NOT NULL DEFAULT 'development',
ADD COLUMN     "user_agent" TEXT NOT NULL DEFAULT '';

-- CreateTable
CREATE TABLE "user_identity" (
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "user_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "user_identity_pkey" PRIMARY KEY ("issuer","subject")
);

-- CreateTable
CREATE TABLE "subscription" (
    "team_id" UUID NOT NULL,
    "body" JSONB NOT NULL,
    "is_active" BOOLEAN NOT NULL,
    "stated_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "subscription_pkey" PRIMARY KEY ("team_id")
);

-- CreateTable
CREATE TABLE "billing_event" (
    "id" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "billing_event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "price_list" (
    "connection_id" UUID NOT NULL,
    "currency" TEXT,
    "prices" JSONB,
    "priced_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "failures" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "price_list_pkey" PRIMARY KEY ("connection_id")
);

-- CreateTable
CREATE TABLE "team_event" (
    "id" BIGSERIAL NOT NULL,
    "xid" BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text)::bigint,
    "team_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "target_id" UUID NOT NULL,
    "target_name" TEXT NOT NULL,
    "change" TEXT NOT NULL,
    "parent_name" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "team_event_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "user_identity_user_id_idx" ON "user_identity"("user_id");

-- CreateIndex
CREATE INDEX "billing_event_received_at_idx" ON "billing_event"("received_at");

-- CreateIndex
CREATE INDEX "price_list_due_at_idx" ON "price_list"("due_at");

-- CreateIndex
CREATE INDEX "team_event_team_id_xid_id_idx" ON "team_event"("team_id", "xid", "id");

-- CreateIndex
CREATE INDEX "team_event_created_at_idx" ON "team_event"("created_at");

-- CreateIndex
CREATE INDEX "adopted_server_due_at_idx" ON "adopted_server"("due_at");

-- CreateIndex
CREATE INDEX "invitation_email_idx" ON "invitation"("email");

-- CreateIndex
CREATE INDEX "invitation_mail_due_at_idx" ON "invitation"("mail_due_at");

-- AddForeignKey
ALTER TABLE "user_identity" ADD CONSTRAINT "user_identity_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscription" ADD CONSTRAINT "subscription_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "price_list" ADD CONSTRAINT "price_list_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connection"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "team_event" ADD CONSTRAINT "team_event_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Live changes: whatever process writes, the row of the event commits with the change and the notification follows.
CREATE FUNCTION "team_event_tell"(
  "team" UUID, "kind" TEXT, "target" UUID, "name" TEXT, "change" TEXT, "parent" TEXT
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "team_event" ("team_id", "kind", "target_id", "target_name", "change", "parent_name")
  VALUES ("team", "kind", "target", "name", "change", "parent");
  PERFORM pg_notify('team_event', "team"::text);
END;
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
  (OLD."state", OLD."progress", OLD."error") IS DISTINCT FROM (NEW."state", NEW."progress", NEW."error")
) EXECUTE FUNCTION "operation_event"();

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
  RETURN NULL;
END;
$$;
CREATE TRIGGER "adopted_server_event_made" AFTER INSERT OR DELETE ON "adopted_server"
FOR EACH ROW EXECUTE FUNCTION "adopted_server_event"();
CREATE TRIGGER "adopted_server_event_changed" AFTER UPDATE ON "adopted_server"
FOR EACH ROW WHEN (
  (OLD."phase", OLD."message", OLD."name", OLD."node_pool_id", OLD."generation", OLD."deregister_requested_at")
  IS DISTINCT FROM
  (NEW."phase", NEW."message", NEW."name", NEW."node_pool_id", NEW."generation", NEW."deregister_requested_at")
) EXECUTE FUNCTION "adopted_server_event"();
