-- contract: unused since 0.2.0: every pass reads the Shoot.
ALTER TABLE "cluster" DROP COLUMN "observed_version";
