/** State of the database as a whole: its migrations and the version of its queues. */
const OF_THE_DATABASE = ['_prisma_migrations', 'migration', 'meta'];

/**
 * One statement that ignores foreign keys. Most tables of a test are empty, where DELETE costs nothing, while TRUNCATE
 * creates new files for every table and index.
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
 * Empties a database of `createTestDatabase`, including the jobs of its queues, for files whose tests each start
 * without data. Nothing else may use the database meanwhile.
 */
export async function deleteRows(pool: { query(text: string): Promise<unknown> }): Promise<void> {
  await pool.query(DELETE_ROWS);
}
