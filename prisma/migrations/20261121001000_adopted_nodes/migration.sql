ALTER TABLE "adopted_server" ADD COLUMN     "begun_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN     "member_of_id" UUID,
ADD COLUMN     "node_name" TEXT,
ADD COLUMN     "node_ready" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "purpose" TEXT NOT NULL DEFAULT 'adopt';
UPDATE "adopted_server" SET "begun_at" = "acknowledged_at";

CREATE INDEX "adopted_server_member_of_id_idx" ON "adopted_server"("member_of_id");
ALTER TABLE "adopted_server" ADD CONSTRAINT "adopted_server_member_of_id_fkey" FOREIGN KEY ("member_of_id") REFERENCES "cluster"("id") ON DELETE SET NULL ON UPDATE CASCADE;

ALTER TABLE "adopted_server" ADD CONSTRAINT "adopted_server_purpose_check" CHECK ("purpose" IN ('adopt', 'join', 'leave'));

-- How many nodes back a pool is read from its servers, so a pool reads differently when one of them does.
CREATE OR REPLACE FUNCTION "adopted_server_event"() RETURNS trigger LANGUAGE plpgsql AS $$
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
DROP TRIGGER "adopted_server_event_changed" ON "adopted_server";
CREATE TRIGGER "adopted_server_event_changed" AFTER UPDATE ON "adopted_server"
FOR EACH ROW WHEN (
  (OLD."phase", OLD."message", OLD."name", OLD."node_pool_id", OLD."node_ready", OLD."generation", OLD."deregister_requested_at")
  IS DISTINCT FROM
  (NEW."phase", NEW."message", NEW."name", NEW."node_pool_id", NEW."node_ready", NEW."generation", NEW."deregister_requested_at")
) EXECUTE FUNCTION "adopted_server_event"();
