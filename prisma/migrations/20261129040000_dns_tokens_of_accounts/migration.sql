-- widens: dns_token.dns_token_of_session

-- What the DNS tokens of an account cover.
ALTER TABLE "service_account" ADD COLUMN     "dns_within_name" TEXT,
ADD COLUMN     "dns_within_types" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- What the audit log shows of the account that has a token, which may be deleted later.
ALTER TABLE "dns_token" ADD COLUMN     "account" JSONB;

-- To a DNS token of an account, the token of the account is what a session is to that of a person.
ALTER TABLE "dns_token" DROP CONSTRAINT "dns_token_of_session";
ALTER TABLE "dns_token" ADD CONSTRAINT "dns_token_of_session" CHECK (
  "session_id" IS NULL
  OR (num_nonnulls("team_id", "expires_at") = 2 AND num_nonnulls("created_by", "account") = 1)
);

-- The DNS tokens of an account end with the token that asked for them, also when that ends with its account or its issuer.
CREATE TRIGGER "service_account_token_ended" AFTER UPDATE OF "revoked_at" ON "service_account_token"
FOR EACH ROW WHEN (NEW."revoked_at" IS NOT NULL) EXECUTE FUNCTION "dns_token_end_with_session"();
CREATE TRIGGER "service_account_token_deleted" AFTER DELETE ON "service_account_token"
FOR EACH ROW EXECUTE FUNCTION "dns_token_end_with_session"();

-- They also end when the rights of the account change: the next ones have those.
CREATE FUNCTION "dns_token_end_with_rights"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "dns_token" SET "revoked_at" = clock_timestamp()
  WHERE "revoked_at" IS NULL
    AND "session_id" IN (SELECT "id" FROM "service_account_token" WHERE "account_id" = NEW."id");
  RETURN NULL;
END;
$$;
CREATE TRIGGER "rights_of_account_changed" AFTER UPDATE ON "service_account"
FOR EACH ROW WHEN (
  (OLD."role", OLD."clusters", OLD."actions", OLD."dns_within_name", OLD."dns_within_types")
  IS DISTINCT FROM
  (NEW."role", NEW."clusters", NEW."actions", NEW."dns_within_name", NEW."dns_within_types")
) EXECUTE FUNCTION "dns_token_end_with_rights"();
