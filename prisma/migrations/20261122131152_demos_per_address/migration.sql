ALTER TABLE "course_code" ADD COLUMN "live_demos_per_address_max" INTEGER NOT NULL DEFAULT 20;

ALTER TABLE "demo" ADD COLUMN "made_from" TEXT;
