-- The DNS token of a signed-in person. No foreign key: the row of a session is deleted long before the audit log that names the
-- token.
ALTER TABLE "dns_token" ADD COLUMN "session_id" UUID,
ADD CONSTRAINT "dns_token_of_session" CHECK (
  "session_id" IS NULL OR num_nonnulls("team_id", "created_by", "expires_at") = 3
);
CREATE INDEX "dns_token_of_session" ON "dns_token"("session_id") WHERE "session_id" IS NOT NULL;

-- A token ends with its session, however that ends.
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

-- And with the membership.
CREATE FUNCTION "dns_token_end_with_membership"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "dns_token" SET "revoked_at" = clock_timestamp()
  WHERE "team_id" = OLD."team_id" AND "created_by" = OLD."user_id" AND "session_id" IS NOT NULL AND "revoked_at" IS NULL;
  RETURN NULL;
END;
$$;
CREATE TRIGGER "membership_ended" AFTER DELETE ON "membership"
FOR EACH ROW EXECUTE FUNCTION "dns_token_end_with_membership"();

-- Lists of a team's tokens do not show it, so nor do live changes.
CREATE OR REPLACE FUNCTION "dns_token_event"() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- The retention sweep finds those that ended long ago.
CREATE INDEX "dns_token_of_ended_session" ON "dns_token"("expires_at") WHERE "session_id" IS NOT NULL;
