import { expect, it } from '@jest/globals';
import { mirrorStore, type RrsetScope } from '../src/index.js';
import { bodyOf, mirrorFixture, ZONE_ID } from './mirror-database.js';

const given = mirrorFixture();

const scopeOf = (slug: string): RrsetScope => ({ zoneId: ZONE_ID, ownerLabel: slug, root: slug });

async function addSet(ownerLabel: string, name: string, type: string): Promise<void> {
  await given.database.pool.query(
    `INSERT INTO dns_rrset (zone_id, owner_label, name, type, body, record_count) VALUES ($1, $2, $3, $4, $5, 1)`,
    [ZONE_ID, ownerLabel, name, type, typedBody(name, type)],
  );
}

const typedBody = (name: string, type: string): string => bodyOf(name, 1).replace('"type":"A"', `"type":"${type}"`);

it('finds a set only for its own owner, name and type', async () => {
  const { team } = given;
  const other = await given.database.createTeam();
  await addSet(team.slug, `s0.${team.slug}`, 'A');
  await addSet(team.slug, `s1.${team.slug}`, 'A');
  await addSet(team.slug, `s0.${team.slug}`, 'TXT');
  await addSet(other.slug, `s0.${other.slug}`, 'A');
  const mirror = mirrorStore(given.database.pool);

  const found = await Promise.all([
    mirror.findRrset(scopeOf(team.slug), `s0.${team.slug}`, 'A'),
    mirror.findRrset(scopeOf(team.slug), `s0.${team.slug}`, 'TXT'),
    mirror.findRrset(scopeOf(team.slug), `s1.${team.slug}`, 'TXT'),
    mirror.findRrset(scopeOf(team.slug), `s2.${team.slug}`, 'A'),
    mirror.findRrset(scopeOf(other.slug), `s0.${other.slug}`, 'A'),
    mirror.findRrset({ ...scopeOf(other.slug), root: team.slug }, `s0.${team.slug}`, 'A'),
  ]);

  expect(found).toEqual([
    typedBody(`s0.${team.slug}`, 'A'),
    typedBody(`s0.${team.slug}`, 'TXT'),
    null,
    null,
    typedBody(`s0.${other.slug}`, 'A'),
    null,
  ]);
});
