-- Ended operations are counted once, by whichever process finds them. Those that ended earlier are not: their sum would look like a
-- burst of ends.
ALTER TABLE "operation" ADD COLUMN "is_counted" BOOLEAN NOT NULL DEFAULT true;
ALTER TABLE "operation" ALTER COLUMN "is_counted" SET DEFAULT false;
CREATE INDEX "operation_to_count" ON "operation"("finished_at") WHERE "finished_at" IS NOT NULL AND NOT "is_counted";

-- The mark is the only part of an ended operation that changes.
CREATE OR REPLACE FUNCTION "operation_keep_final"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD."state" NOT IN ('queued', 'running')
     AND to_jsonb(OLD) - 'is_counted' IS DISTINCT FROM to_jsonb(NEW) - 'is_counted' THEN
    RAISE EXCEPTION 'operation % is %: a final state never changes', OLD."id", OLD."state";
  END IF;
  IF NEW."progress" < OLD."progress" THEN
    RAISE EXCEPTION 'operation %: progress never falls', OLD."id";
  END IF;
  RETURN NEW;
END;
$$;

UPDATE "operation" SET "is_counted" = false WHERE "finished_at" IS NULL;

-- Totals since the installation began to count. They only grow.
CREATE TABLE "operation_total" (
    "kind" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "ended" BIGINT NOT NULL,
    "late" BIGINT NOT NULL,
    "seconds" DOUBLE PRECISION NOT NULL,

    CONSTRAINT "operation_total_pkey" PRIMARY KEY ("kind","outcome")
);
