/** Of what holds for a database as a whole: which migrations it has, and which version its queues are of. */
const OF_THE_DATABASE = ['_prisma_migrations', 'migration', 'meta'];

/**
 * One statement, in which nothing that refers to a row keeps that from going. Most tables of a test are empty: to delete
 * from them costs nothing, while TRUNCATE would make a new file of every table and index.
 */
const DELETE_ROWS = `DO $$
DECLARE
  each regclass;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR each IN
    SELECT pg_class.oid FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind = 'r' AND nspname IN ('public', 'bullmq') AND relname NOT IN (${OF_THE_DATABASE.map((name) => `'${name}'`).join(', ')})
  LOOP
    EXECUTE format('DELETE FROM %s', each);
  END LOOP;
END $$`;

/**
 * Makes a database of `createTestDatabase` empty again, jobs of its queues included: for a file whose tests each begin
 * with nothing. Nobody else may be at work in it.
 */
export async function deleteRows(pool: { query(text: string): Promise<unknown> }): Promise<void> {
  await pool.query(DELETE_ROWS);
}
