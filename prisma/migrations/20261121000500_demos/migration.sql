ALTER TYPE "dns_actor" ADD VALUE 'course';
ALTER TYPE "dns_actor" ADD VALUE 'service';

ALTER TABLE "dns_zone" ADD COLUMN "of_demos" BOOLEAN NOT NULL DEFAULT false;

CREATE TABLE "course_code" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "code" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "live_demos_max" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deactivated_at" TIMESTAMPTZ(3),
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
    CONSTRAINT "demo_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "demo_label_form" CHECK ("label" ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    CONSTRAINT "demo_has_one_maker" CHECK (num_nonnulls("team_id", "course_code_id") = 1),
    CONSTRAINT "demo_lifetime" CHECK ("expires_at" <= "created_at" + interval '168 hours'),
    CONSTRAINT "demo_ended_is_cleared" CHECK (("ended_at" IS NULL) = ("clear_at" IS NULL)),
    CONSTRAINT "demo_released_has_ended" CHECK ("released_at" IS NULL OR "ended_at" IS NOT NULL)
);
CREATE INDEX "demo_team_id_created_at_idx" ON "demo"("team_id", "created_at");
CREATE INDEX "demo_course_code_id_created_at_idx" ON "demo"("course_code_id", "created_at");
-- The rule behind "one demo per label"; an ended one keeps its label until that is released.
CREATE UNIQUE INDEX "demo_one_per_label" ON "demo"("zone_id", "label") WHERE "released_at" IS NULL;
-- What the expiry looks for, and what it leaves to be cleared: few rows of all there ever were.
CREATE INDEX "demo_live" ON "demo"("expires_at") WHERE "ended_at" IS NULL;
CREATE INDEX "demo_to_clear" ON "demo"("clear_at") WHERE "ended_at" IS NOT NULL AND "released_at" IS NULL;

ALTER TABLE "dns_token" ADD COLUMN "demo_id" UUID,
ALTER COLUMN "team_id" DROP NOT NULL,
ADD CONSTRAINT "dns_token_acts_for_one" CHECK (num_nonnulls("team_id", "demo_id") = 1);
CREATE UNIQUE INDEX "dns_token_demo_id_key" ON "dns_token"("demo_id");

ALTER TABLE "dns_audit_entry" ADD COLUMN "demo_id" UUID,
DROP CONSTRAINT "dns_audit_entry_token_acts_for_team",
ADD CONSTRAINT "dns_audit_entry_token_acts_for_somebody"
CHECK ("actor" <> 'token' OR ("token_id" IS NOT NULL AND num_nonnulls("team_id", "demo_id") > 0));
CREATE INDEX "dns_audit_entry_demo_id_id_idx" ON "dns_audit_entry"("demo_id", "id" DESC);
-- A demo's writes are not its team's, so the pending ones are counted by whose label they are about.
DROP INDEX "dns_audit_entry_pending_of_team";
CREATE INDEX "dns_audit_entry_pending_of_owner" ON "dns_audit_entry"(coalesce("demo_id", "team_id")) WHERE "state" = 'pending';

ALTER TABLE "dns_action" ADD COLUMN "demo_id" UUID,
ALTER COLUMN "team_id" DROP NOT NULL,
ADD CONSTRAINT "dns_action_is_of_somebody" CHECK (num_nonnulls("team_id", "demo_id") > 0);

ALTER TABLE "demo" ADD CONSTRAINT "demo_zone_id_fkey" FOREIGN KEY ("zone_id") REFERENCES "dns_zone"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "demo" ADD CONSTRAINT "demo_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "demo" ADD CONSTRAINT "demo_course_code_id_fkey" FOREIGN KEY ("course_code_id") REFERENCES "course_code"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_token" ADD CONSTRAINT "dns_token_demo_id_fkey" FOREIGN KEY ("demo_id") REFERENCES "demo"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_audit_entry" ADD CONSTRAINT "dns_audit_entry_demo_id_fkey" FOREIGN KEY ("demo_id") REFERENCES "demo"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "dns_action" ADD CONSTRAINT "dns_action_demo_id_fkey" FOREIGN KEY ("demo_id") REFERENCES "demo"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- The expiry of a demo is that of its token: gateways that keep the token in memory hear of a change at commit.
CREATE FUNCTION "demo_notify"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('dns_token_changed', encode("hash", 'hex')) FROM "dns_token" WHERE "demo_id" = NEW."id";
  RETURN NULL;
END;
$$;

CREATE TRIGGER "demo_expiry_changed"
AFTER UPDATE OF "expires_at" ON "demo"
FOR EACH ROW EXECUTE FUNCTION "demo_notify"();
