-- AlterTable
ALTER TABLE "dns_audit_entry" ADD COLUMN     "found_bytes" INTEGER,
ADD COLUMN     "found_sha256" BYTEA,
ADD COLUMN     "request_bytes" INTEGER,
ADD COLUMN     "request_sha256" BYTEA,
ADD COLUMN     "upstream_bytes" INTEGER,
ADD COLUMN     "upstream_sha256" BYTEA;

-- The first bytes of a text, never half a character: the bytes of UTF-8 that go on with one begin with the bits 10.
CREATE FUNCTION "cut_text"("whole" TEXT, "bytes_max" INTEGER) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  "bytes" BYTEA := convert_to("whole", 'UTF8');
  "end" INTEGER := "bytes_max";
BEGIN
  IF octet_length("bytes") <= "bytes_max" THEN
    RETURN "whole";
  END IF;
  WHILE "end" > 0 AND get_byte("bytes", "end") & 192 = 128 LOOP
    "end" := "end" - 1;
  END LOOP;
  RETURN convert_from(substring("bytes" FROM 1 FOR "end"), 'UTF8');
END;
$$;

-- What is still to be cut, and nothing else: an entry leaves the index with its cut. 16384 is the limit of the contracts.
CREATE INDEX "dns_audit_entry_to_cut" ON "dns_audit_entry"("completed_at") WHERE "state" <> 'pending'
AND (octet_length("request_body") > 16384 OR octet_length("upstream_body") > 16384 OR octet_length("found_body") > 16384);
