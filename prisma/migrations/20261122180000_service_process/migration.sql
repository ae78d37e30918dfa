CREATE TABLE "service_process" (
    "id" UUID NOT NULL,
    "service" TEXT NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "service_process_pkey" PRIMARY KEY ("id")
);
