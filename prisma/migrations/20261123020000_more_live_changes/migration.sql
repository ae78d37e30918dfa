-- AlterTable
ALTER TABLE "team_event" ADD COLUMN     "owner_id" UUID,
ALTER COLUMN "target_id" SET DATA TYPE TEXT;

-- Record sets and members are known by other ids than uuids; what only some may read of names its owner. Of a team that
-- goes in the same transaction nothing is told. Transactions that notify commit one after the other, for which DNS writes
-- are too many: whoever listens looks for record sets every second.
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
CREATE OR REPLACE FUNCTION "team_event_tell"(
  "team" UUID, "kind" TEXT, "target" UUID, "name" TEXT, "change" TEXT, "parent" TEXT
) RETURNS void LANGUAGE sql AS $$
  SELECT "team_event_tell"("team", "kind", "target"::text, "name", "change", "parent", NULL::uuid);
$$;

-- Of a token's text there is only a digest, and that is no part of what is told. Its use is not told either.
CREATE FUNCTION "dns_token_event"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  "token" RECORD;
BEGIN
  "token" := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  IF "token"."team_id" IS NOT NULL THEN
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

-- Whoever writes the mirror: a gateway, a settlement or a sync. What demos have is told to nobody.
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

-- A token that is sealed anew, or due to be verified, reads as before.
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

-- As answers call a person.
CREATE FUNCTION "app_user_name"("person" "app_user") RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    nullif("person"."display_name", ''),
    nullif(trim("person"."first_name" || ' ' || "person"."last_name"), ''),
    "person"."email"
  );
$$;

-- A person who goes altogether takes the name along.
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
