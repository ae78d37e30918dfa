-- Totals of lists, and what counts against a quota, without reading all record sets of an owner. Kept by a trigger, so also for
-- services of the release before.
CREATE TABLE "dns_rrset_count" (
    "zone_id" BIGINT NOT NULL,
    "owner_label" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "sets" INTEGER NOT NULL,
    "records" INTEGER NOT NULL,

    CONSTRAINT "dns_rrset_count_pkey" PRIMARY KEY ("zone_id","owner_label","type")
) WITH (fillfactor = 50);

-- A row per label of a record set, for filters.
CREATE TABLE "dns_rrset_label" (
    "zone_id" BIGINT NOT NULL,
    "name" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "owner_label" TEXT NOT NULL,

    CONSTRAINT "dns_rrset_label_pkey" PRIMARY KEY ("zone_id","name","type","key")
);
CREATE INDEX "dns_rrset_label_of_value" ON "dns_rrset_label"("zone_id", "owner_label", "key", "value", (("name" || '/' || "type") COLLATE "C"));

CREATE TABLE "dns_rrset_label_count" (
    "zone_id" BIGINT NOT NULL,
    "owner_label" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "sets" INTEGER NOT NULL,

    CONSTRAINT "dns_rrset_label_count_pkey" PRIMARY KEY ("zone_id","owner_label","key","value")
) WITH (fillfactor = 50);

-- The text of the labels in a body, which is a JSON text of the upstream. Characters that Postgres cannot read are replaced by one that
-- no selector contains: the upstream decides what a body contains, and a write must not fail after it was carried out there. As stable
-- as the input of `json`: otherwise it would not become a part of the expressions that use it, and would take ten times as long.
CREATE FUNCTION "dns_rrset_label_text"("body" TEXT) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE
RETURN ((CASE
  WHEN strpos("body", '\u') = 0 THEN "body"
  ELSE regexp_replace("body", '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\n', 'g')
END)::json -> 'labels')::text;

-- Labels as an object of texts.
CREATE FUNCTION "dns_rrset_labels"("text" TEXT) RETURNS JSONB LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
  SELECT coalesce(jsonb_object_agg("key", coalesce("value", '(null)')), '{}')
  FROM jsonb_each_text(CASE WHEN jsonb_typeof("text"::jsonb) = 'object' THEN "text"::jsonb ELSE '{}' END)
);

-- With the rights of the owner of the tables: services need none on these, in whichever order roles and releases are updated. So all
-- names have their schema. A search path of the function would take as long as one of its statements.
CREATE FUNCTION "dns_rrset_keep_counts"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  "rrset" "public"."dns_rrset" := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  "before_text" TEXT := coalesce(CASE WHEN TG_OP = 'INSERT' THEN NULL ELSE "public"."dns_rrset_label_text"(OLD."body") END, '{}');
  "after_text" TEXT := coalesce(CASE WHEN TG_OP = 'DELETE' THEN NULL ELSE "public"."dns_rrset_label_text"(NEW."body") END, '{}');
  "before" JSONB;
  "after" JSONB;
  "left" INT;
BEGIN
  -- As most writes.
  IF TG_OP = 'UPDATE' AND "before_text" = "after_text" AND OLD."record_count" = NEW."record_count" THEN RETURN NULL; END IF;

  -- Counts of an owner are changed by one transaction at a time. Several that take them in different orders would block each other.
  PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended("rrset"."owner_label", "rrset"."zone_id"));
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "public"."dns_rrset_count" AS "held" ("zone_id", "owner_label", "type", "sets", "records")
    VALUES (NEW."zone_id", NEW."owner_label", NEW."type", 1, NEW."record_count")
    ON CONFLICT ("zone_id", "owner_label", "type") DO UPDATE
    SET "sets" = "held"."sets" + 1, "records" = "held"."records" + excluded."records";
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE "public"."dns_rrset_count" SET "sets" = "sets" - 1, "records" = "records" - OLD."record_count"
    WHERE "zone_id" = OLD."zone_id" AND "owner_label" = OLD."owner_label" AND "type" = OLD."type" RETURNING "sets" INTO "left";
    IF "left" <= 0 THEN
      DELETE FROM "public"."dns_rrset_count"
      WHERE "zone_id" = OLD."zone_id" AND "owner_label" = OLD."owner_label" AND "type" = OLD."type";
    END IF;
  ELSIF NEW."record_count" <> OLD."record_count" THEN
    UPDATE "public"."dns_rrset_count" SET "records" = "records" + NEW."record_count" - OLD."record_count"
    WHERE "zone_id" = NEW."zone_id" AND "owner_label" = NEW."owner_label" AND "type" = NEW."type";
  END IF;
  IF "before_text" = "after_text" THEN RETURN NULL; END IF;

  "before" := "public"."dns_rrset_labels"("before_text");
  "after" := "public"."dns_rrset_labels"("after_text");
  DELETE FROM "public"."dns_rrset_label"
  WHERE "zone_id" = "rrset"."zone_id" AND "name" = "rrset"."name" AND "type" = "rrset"."type";
  UPDATE "public"."dns_rrset_label_count" AS "held" SET "sets" = "held"."sets" - 1
  FROM pg_catalog.jsonb_each_text("before") AS "label"
  WHERE "held"."zone_id" = "rrset"."zone_id" AND "held"."owner_label" = "rrset"."owner_label"
    AND "held"."key" = "label"."key" AND "held"."value" = "label"."value";
  INSERT INTO "public"."dns_rrset_label" ("zone_id", "name", "type", "key", "value", "owner_label")
  SELECT "rrset"."zone_id", "rrset"."name", "rrset"."type", "key", "value", "rrset"."owner_label" FROM pg_catalog.jsonb_each_text("after");
  INSERT INTO "public"."dns_rrset_label_count" AS "held" ("zone_id", "owner_label", "key", "value", "sets")
  SELECT "rrset"."zone_id", "rrset"."owner_label", "key", "value", 1 FROM pg_catalog.jsonb_each_text("after")
  ON CONFLICT ("zone_id", "owner_label", "key", "value") DO UPDATE SET "sets" = "held"."sets" + 1;
  DELETE FROM "public"."dns_rrset_label_count" AS "held" USING pg_catalog.jsonb_each_text("before") AS "label"
  WHERE "held"."zone_id" = "rrset"."zone_id" AND "held"."owner_label" = "rrset"."owner_label"
    AND "held"."key" = "label"."key" AND "held"."value" = "label"."value" AND "held"."sets" <= 0;
  RETURN NULL;
END;
$$;

CREATE TRIGGER "dns_rrset_counted_made" AFTER INSERT OR DELETE ON "dns_rrset"
FOR EACH ROW EXECUTE FUNCTION "dns_rrset_keep_counts"();
-- A condition that compares labels here would be planned for each statement, which takes longer than the call.
CREATE TRIGGER "dns_rrset_counted_changed" AFTER UPDATE ON "dns_rrset"
FOR EACH ROW WHEN (OLD."body" <> NEW."body" OR OLD."record_count" <> NEW."record_count")
EXECUTE FUNCTION "dns_rrset_keep_counts"();

-- Counts everything anew, for whoever adds rows without triggers. Nobody writes record sets meanwhile. The rows of before are counted by a
-- later migration, owner by owner.
CREATE FUNCTION "dns_rrset_recount"() RETURNS void LANGUAGE sql AS $$
  LOCK TABLE "dns_rrset" IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM "dns_rrset_count";
  DELETE FROM "dns_rrset_label";
  DELETE FROM "dns_rrset_label_count";
  INSERT INTO "dns_rrset_count" ("zone_id", "owner_label", "type", "sets", "records")
  SELECT "zone_id", "owner_label", "type", count(*), sum("record_count") FROM "dns_rrset" GROUP BY 1, 2, 3;
  INSERT INTO "dns_rrset_label" ("zone_id", "name", "type", "key", "value", "owner_label")
  SELECT "zone_id", "name", "type", "label"."key", "label"."value", "owner_label"
  FROM "dns_rrset", jsonb_each_text("dns_rrset_labels"("dns_rrset_label_text"("body"))) AS "label"
  WHERE "dns_rrset_label_text"("body") <> '{}';
  INSERT INTO "dns_rrset_label_count" ("zone_id", "owner_label", "key", "value", "sets")
  SELECT "zone_id", "owner_label", "key", "value", count(*) FROM "dns_rrset_label" GROUP BY 1, 2, 3, 4;
$$;
