ALTER TABLE "operation" ADD COLUMN "traceparent" TEXT
CONSTRAINT "operation_traceparent_is_short" CHECK (length("traceparent") = 55);
