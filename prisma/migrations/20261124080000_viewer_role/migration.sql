ALTER TYPE "team_role" ADD VALUE 'viewer' BEFORE 'member';

-- Viewers have no DNS token. As text: a new value of the type cannot be used in the transaction that adds it.
CREATE TRIGGER "membership_lowered" AFTER UPDATE OF "role" ON "membership"
FOR EACH ROW WHEN (NEW."role"::text = 'viewer') EXECUTE FUNCTION "dns_token_end_with_membership"();
