import { describe, expect, it } from '@jest/globals';
import { onConnection } from '../src/postgres/connection.js';
import { deleteRows } from '../src/postgres/delete-rows.js';
import { createTestDatabase } from '../src/postgres/test-database.js';

describe('deleteRows', () => {
  it('empties every table despite foreign keys, and keeps the record of migrations', async () => {
    const database = await createTestDatabase();
    await onConnection(database.url, async (client) => {
      const read = async (sql: string) => (await client.query(sql)).rows;
      const migrations = await read('SELECT migration_name FROM _prisma_migrations ORDER BY 1');
      await client.query(`WITH made AS (INSERT INTO team (slug) VALUES ('acme') RETURNING id)
        INSERT INTO connection (team_id, ref, name, provider, provider_config, sealed_token, token_key_id)
        SELECT id, 'main', 'main', 'hcloud', '{}', 'sealed', 'k1' FROM made`);

      await deleteRows(client);

      expect(await read('SELECT 1 FROM team UNION ALL SELECT 1 FROM connection')).toEqual([]);
      expect(await read('SELECT migration_name FROM _prisma_migrations ORDER BY 1')).toEqual(migrations);
      const orphan = client.query(`INSERT INTO membership (team_id, user_id, role)
        VALUES (gen_random_uuid(), gen_random_uuid(), 'member')`);
      await expect(orphan).rejects.toThrow(/foreign key/); // enforced again
    });
    await database.drop();
  });
});
