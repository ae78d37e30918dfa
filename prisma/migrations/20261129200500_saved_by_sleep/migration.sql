-- AlterTable
ALTER TABLE "cluster" ADD COLUMN     "saved_amount" DECIMAL(20,10),
ADD COLUMN     "saved_currency" TEXT,
ADD COLUMN     "saved_since" TIMESTAMPTZ(3),
ADD COLUMN     "slept_at" TIMESTAMPTZ(3);
