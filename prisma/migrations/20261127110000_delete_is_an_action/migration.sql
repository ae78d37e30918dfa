-- Accounts that may change could delete so far, and keep it: administrators take it from those that need it not.
UPDATE "service_account" SET "actions" = array_append("actions", 'delete')
WHERE 'change' = ANY ("actions") AND NOT 'delete' = ANY ("actions");
