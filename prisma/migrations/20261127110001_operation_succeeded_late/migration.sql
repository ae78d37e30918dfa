-- A failed operation whose work is done after all ends as succeeded: a token was replaced, or the garden had stock again. Nothing else
-- of an ended operation changes, but the mark that it is counted.
CREATE OR REPLACE FUNCTION "operation_keep_final"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD."state" NOT IN ('queued', 'running')
     AND NOT (OLD."state" = 'failed' AND NEW."state" = 'succeeded')
     AND to_jsonb(OLD) - 'is_counted' IS DISTINCT FROM to_jsonb(NEW) - 'is_counted' THEN
    RAISE EXCEPTION 'operation % is %: a final state never changes', OLD."id", OLD."state";
  END IF;
  IF NEW."progress" < OLD."progress" THEN
    RAISE EXCEPTION 'operation %: progress never falls', OLD."id";
  END IF;
  RETURN NEW;
END;
$$;
