-- AlterTable
ALTER TABLE "cluster" ADD COLUMN     "node_counts" JSONB,
ADD COLUMN     "nodes_due_at" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "cluster_nodes_due_at_idx" ON "cluster"("nodes_due_at");

-- What is told of an API server has one member more. The next pass fills it in.
UPDATE "cluster"
SET "observed" = jsonb_set("observed", '{apiServer,certificateAuthorityData}', 'null'),
    "revision" = "revision" + 1
WHERE jsonb_typeof("observed"->'apiServer') = 'object';
