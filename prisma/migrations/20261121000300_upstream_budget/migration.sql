CREATE TABLE "upstream_budget" (
    "project" TEXT NOT NULL,
    "version" BIGINT NOT NULL,
    "state" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "upstream_budget_pkey" PRIMARY KEY ("project")
);
