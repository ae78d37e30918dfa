-- CreateTable
CREATE TABLE "team_change_lock" (
    "team_id" UUID NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "team_change_lock_pkey" PRIMARY KEY ("team_id")
);

-- AddForeignKey
ALTER TABLE "team_change_lock" ADD CONSTRAINT "team_change_lock_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Whoever makes a team, by whatever way, makes its lock.
CREATE FUNCTION "team_change_lock_make"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "team_change_lock" ("team_id") VALUES (NEW."id") ON CONFLICT DO NOTHING;
  RETURN NULL;
END;
$$;
CREATE TRIGGER "team_change_lock_made" AFTER INSERT ON "team"
FOR EACH ROW EXECUTE FUNCTION "team_change_lock_make"();

INSERT INTO "team_change_lock" ("team_id") SELECT "id" FROM "team";
