-- Every pass reads the Shoot.
ALTER TABLE "cluster" DROP COLUMN "observed_version";
