import { connectPool, type Pool } from '@corral/database';
import { patientPool } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mirrorStore, type RrsetScope } from '../src/index.js';
import { bodyOf, mirrorFixture, ZONE_ID } from './mirror-database.js';

const given = mirrorFixture();

const scopeOf = (slug: string): RrsetScope => ({ zoneId: ZONE_ID, ownerLabel: slug, root: slug });

/** Adds sets `s0` to `s<count - 1>` below the owner's name. */
async function addSets(ownerLabel: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await addSet(ownerLabel, `s${at}.${ownerLabel}`, 'A');
}

async function addSet(ownerLabel: string, name: string, type: string): Promise<void> {
  await given.database.pool.query(
    `INSERT INTO dns_rrset (zone_id, owner_label, name, type, body, record_count) VALUES ($1, $2, $3, $4, $5, 1)`,
    [ZONE_ID, ownerLabel, name, type, typedBody(name, type)],
  );
}

const typedBody = (name: string, type: string): string => bodyOf(name, 1).replace('"type":"A"', `"type":"${type}"`);

describe('reads of sets in one turn', () => {
  it('find each set only for its own owner, name and type, in any number', async () => {
    const { team } = given;
    const other = await given.database.createTeam();
    await addSets(team.slug, 30);
    await addSet(team.slug, `s0.${team.slug}`, 'TXT');
    await addSet(other.slug, `s0.${other.slug}`, 'A');
    const mirror = mirrorStore(given.database.pool);

    const found = await Promise.all([
      ...Array.from({ length: 31 }, (_, at) => mirror.findRrset(scopeOf(team.slug), `s${at}.${team.slug}`, 'A')),
      mirror.findRrset(scopeOf(team.slug), `s0.${team.slug}`, 'TXT'),
      mirror.findRrset(scopeOf(team.slug), `s1.${team.slug}`, 'TXT'),
      mirror.findRrset(scopeOf(other.slug), `s0.${other.slug}`, 'A'),
      mirror.findRrset({ ...scopeOf(other.slug), root: team.slug }, `s0.${team.slug}`, 'A'),
    ]);

    expect(found).toEqual([
      ...Array.from({ length: 30 }, (_, at) => typedBody(`s${at}.${team.slug}`, 'A')),
      null,
      typedBody(`s0.${team.slug}`, 'TXT'),
      null,
      typedBody(`s0.${other.slug}`, 'A'),
      null,
    ]);
  });
});

describe('the statements of the most common reads', () => {
  let connection: Pool;
  beforeAll(() => {
    const settings = { databaseUrl: given.database.url, applicationName: 'test', connectionsMax: 1, ...patientPool };
    connection = connectPool({ ...settings, onIdleError: () => undefined });
  });
  afterAll(() => connection.end());

  it('are planned for any values, not for those of each read', async () => {
    const small = given.team.slug;
    await addSets(small, 5);
    await addSets((await given.database.createTeam()).slug, 300);
    await given.database.pool.query('ANALYZE dns_rrset');
    const mirror = mirrorStore(connection);
    const selection = { name: null, types: [], labels: null, sort: [] };

    for (let time = 0; time < 10; time += 1) {
      await mirror.findRrset(scopeOf(small), `s0.${small}`, 'A');
      await mirror.pageRrsets({ scope: scopeOf(small), teamId: given.team.id, selection, limit: 25, offset: 0 });
    }

    const { rows } = await connection.query(
      `SELECT name, generic_plans::int AS generic FROM pg_prepared_statements WHERE name LIKE 'rrset%' ORDER BY name`,
    );
    expect(rows).toEqual([
      { name: 'rrset-page', generic: 5 },
      { name: 'rrsets-by-key', generic: 5 },
    ]);
  });
});
