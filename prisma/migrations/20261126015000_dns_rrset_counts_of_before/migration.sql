-- Counts the record sets that are older than the trigger, one owner after the other: new and deleted sets of an owner, and new labels, wait
-- until its counts are written, or a part of its labels; nothing else waits. May run again. A statement of its own, as it commits many times.
DO $$
DECLARE
  "zone" BIGINT := -9223372036854775808;
  "owner" TEXT := '';
  "last" TEXT;
  "until" TEXT;
BEGIN
  LOOP
    SELECT "zone_id", "owner_label" INTO "zone", "owner" FROM "dns_rrset"
    WHERE ("zone_id", "owner_label") > ("zone", "owner") ORDER BY "zone_id", "owner_label" LIMIT 1;
    EXIT WHEN NOT FOUND;
    "last" := '';
    LOOP
      -- The record that this migration is applied is durable, and so is everything before it.
      PERFORM set_config('synchronous_commit', 'off', true);
      -- As the trigger does: the statements after it see all sets that it has counted, and those that it counts later come on top.
      PERFORM pg_advisory_xact_lock(hashtextextended("owner", "zone"));
      SELECT max("name" COLLATE "C") INTO "until" FROM (
        SELECT "name" FROM "dns_rrset" WHERE "zone_id" = "zone" AND "owner_label" = "owner" AND "name" COLLATE "C" > "last"
        ORDER BY "name" COLLATE "C" LIMIT 2000
      ) AS "part";
      EXIT WHEN "until" IS NULL;
      -- A set that has its labels already has them from the trigger.
      INSERT INTO "dns_rrset_label" ("zone_id", "name", "type", "key", "value", "owner_label")
      SELECT "zone_id", "name", "type", "label"."key", "label"."value", "owner_label"
      FROM "dns_rrset", jsonb_each_text("dns_rrset_labels"("dns_rrset_label_text"("body"))) AS "label"
      WHERE "zone_id" = "zone" AND "owner_label" = "owner" AND "name" COLLATE "C" > "last" AND "name" COLLATE "C" <= "until"
        AND "dns_rrset_label_text"("body") <> '{}'
      ON CONFLICT DO NOTHING;
      COMMIT;
      "last" := "until";
    END LOOP;
    DELETE FROM "dns_rrset_count" WHERE "zone_id" = "zone" AND "owner_label" = "owner";
    INSERT INTO "dns_rrset_count" ("zone_id", "owner_label", "type", "sets", "records")
    SELECT "zone_id", "owner_label", "type", count(*), sum("record_count") FROM "dns_rrset"
    WHERE "zone_id" = "zone" AND "owner_label" = "owner" GROUP BY 1, 2, 3;
    DELETE FROM "dns_rrset_label_count" WHERE "zone_id" = "zone" AND "owner_label" = "owner";
    INSERT INTO "dns_rrset_label_count" ("zone_id", "owner_label", "key", "value", "sets")
    SELECT "zone_id", "owner_label", "key", "value", count(*) FROM "dns_rrset_label"
    WHERE "zone_id" = "zone" AND "owner_label" = "owner" GROUP BY 1, 2, 3, 4;
    COMMIT;
  END LOOP;
END;
$$;
