import type { Pool } from '@corral/database';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { lastUsedRecorder } from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

let database: AuthDatabase;
let ids: string[];
beforeAll(async () => {
  database = await openAuthDatabase();
  const team = await database.teams.createTeam('acme');
  ids = [];
  for (let at = 0; at < 5; at += 1) ids.push((await database.tokens.issueToken(team, { name: 'ci' })).record.id);
});
afterAll(() => database.close());
beforeEach(() => database.pool.query('UPDATE dns_token SET last_used_at = NULL'));

describe('the last use of tokens', () => {
  it('is written in one statement, whatever the traffic', async () => {
    let statements = 0;
    const query = (text: string, values: unknown[]) => {
      statements += 1;
      return database.pool.query(text, values);
    };
    const recorder = lastUsedRecorder({ query } as unknown as Pool, fail);
    const before = Date.now();

    for (let use = 0; use < 1_000; use += 1) recorder.note(ids[use % 2] as string);
    await recorder.close();

    expect(statements).toBe(1);
    expect((await lastUse(0))?.getTime()).toBeGreaterThanOrEqual(before);
    expect(await lastUse(2)).toBeNull();
  });

  it('never goes back', async () => {
    const ahead = new Date(Date.now() + 60_000);
    await database.pool.query('UPDATE dns_token SET last_used_at = $2 WHERE id = $1', [ids[1], ahead]);
    const recorder = lastUsedRecorder(database.pool, fail);

    recorder.note(ids[1] as string);
    await recorder.close();

    expect(await lastUse(1)).toEqual(ahead);
  });

  it('is told of when it cannot be written', async () => {
    const errors: Error[] = [];
    const away = { query: () => Promise.reject(new Error('away')) } as unknown as Pool;
    const recorder = lastUsedRecorder(away, (error) => errors.push(error));

    recorder.note(ids[2] as string);
    await recorder.close();

    expect(errors.map(String)).toEqual(['Error: away']);
  });

  it('is written by many processes at once without one waiting for another for ever', async () => {
    const errors: Error[] = [];
    for (let round = 0; round < 20; round += 1) {
      const recorders = [0, 1, 2, 3].map(() => lastUsedRecorder(database.pool, (error) => errors.push(error)));
      for (const [at, recorder] of recorders.entries()) {
        for (const id of at % 2 === 0 ? ids : ids.toReversed()) recorder.note(id);
      }
      await Promise.all(recorders.map((recorder) => recorder.close()));
    }

    expect(errors).toEqual([]);
  });
});

async function lastUse(at: number): Promise<Date | null> {
  return (await database.prisma.dnsToken.findUniqueOrThrow({ where: { id: ids[at] as string } })).lastUsedAt;
}

function fail(error: Error): never {
  throw error;
}
