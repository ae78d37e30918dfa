-- The version of the Shoot that the last pass has seen: a report of the watch that is newer need not be read again.
ALTER TABLE "cluster" ADD COLUMN "observed_version" TEXT;
