-- AlterTable
ALTER TABLE "cluster" ADD COLUMN     "waiting" JSONB;

-- AlterTable
ALTER TABLE "operation" ADD COLUMN     "waiting" JSONB;

-- What an operation waits for is part of it, so those who listen are told.
DROP TRIGGER "operation_event_changed" ON "operation";
CREATE TRIGGER "operation_event_changed" AFTER UPDATE ON "operation"
FOR EACH ROW WHEN (
  (OLD."state", OLD."progress", OLD."error", OLD."waiting")
  IS DISTINCT FROM (NEW."state", NEW."progress", NEW."error", NEW."waiting")
) EXECUTE FUNCTION "operation_event"();
