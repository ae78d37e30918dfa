-- What the watch reported while a pass had the cluster: a pass that has seen the same is not repeated.
ALTER TABLE "cluster" ADD COLUMN "sighted_hash" TEXT;
