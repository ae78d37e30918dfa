import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ABSENT, dueStore, type Sighting } from '../../src/garden/due-store.js';
import { digestOf } from '../../src/garden/listed-shoots.js';
import { type ClusterRows, openClusterRows, type TestTeam } from '../support/cluster-rows.js';

/** A row of a cluster, and how the garden lists its Shoot. */
interface Known {
  readonly hasNamespace: boolean;
  readonly uid: string | null;
  readonly observed: string | null;
  readonly lease: 'none' | 'running' | 'ended';
  readonly listed: 'as observed' | 'as another' | 'elsewhere' | 'not';
}

const mostly = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const knownArbitrary: fc.Arbitrary<Known> = fc.record({
  hasNamespace: mostly(true, false),
  uid: mostly<string | null>('uid', null),
  observed: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('h1', 'h2') },
    { weight: 1, arbitrary: fc.constantFrom(null, ABSENT) },
  ),
  lease: mostly<Known['lease']>('none', 'running', 'ended'),
  listed: mostly<Known['listed']>('as observed', 'as another', 'elsewhere', 'not'),
});

let at: ClusterRows;
let team: TestTeam;
let without: TestTeam;
let connections: Map<TestTeam, string>;
beforeAll(async () => {
  at = await openClusterRows();
  [team, without] = [await at.addTeam('acme'), await at.addTeam('none')];
  await at.pool.query('UPDATE team SET project_namespace = $2 WHERE id = $1', [team.id, 'garden-acme']);
  connections = new Map();
  for (const each of [team, without]) connections.set(each, await at.addConnection(each));
});
afterAll(() => at.close());

const LEASES = { none: null, running: '1 hour', ended: '-1 hour' };

async function insert(known: readonly Known[]): Promise<void> {
  await at.pool.query('DELETE FROM cluster');
  for (const [index, { hasNamespace, uid, observed, lease }] of known.entries()) {
    const { id } = hasNamespace ? team : without;
    await at.pool.query(
      `INSERT INTO cluster (team_id, name, connection_id, shoot_name, spec, desired_hash, started_at, shoot_uid,
                            observed_hash, lease_until)
       VALUES ($1, $2, $3, $2, '{}', 'h', now(), $4, $5, now() + $6::interval)`,
      [id, `c${index}`, connections.get(hasNamespace ? team : without), uid, observed, LEASES[lease]],
    );
  }
}

function listOf(known: readonly Known[], hasUnknown: boolean): Sighting[] {
  const listed = known.flatMap(({ hasNamespace, observed, listed }, index) => {
    const namespace = hasNamespace && listed !== 'elsewhere' ? 'garden-acme' : 'garden-other';
    const isAbsent = observed === null || observed === ABSENT;
    if (listed === 'not' || (isAbsent && listed === 'as observed')) return [];
    return [{ namespace, shootName: `c${index}`, hash: listed === 'as another' || isAbsent ? 'h3' : observed }];
  });
  return hasUnknown ? [...listed, { namespace: 'garden-acme', shootName: 'unknown', hash: 'h1' }] : listed;
}

/** Whether comparing all Shoots of the list with the rows changes any row. */
async function findsNothing(list: readonly Sighting[]): Promise<boolean> {
  const seenNames = list.map(({ shootName }) => shootName);
  const changed = await dueStore(at.pool).makeChangedDue(list);
  const missing = await dueStore(at.pool).makeMissingDue({ seenNames, limit: 1_000 }, null);
  const { rows } = await at.pool.query('SELECT FROM cluster WHERE due_at IS NOT NULL OR sighted_hash IS NOT NULL');
  return changed.length + missing.ids.length + rows.length === 0;
}

describe('the digest of a list', () => {
  it('agrees with the rows only if a comparison of all Shoots finds nothing', async () => {
    const seen = { agreed: 0, differed: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(knownArbitrary, { maxLength: 4 }), mostly(false, true), async (known, hasUnknown) => {
        await insert(known);
        const list = listOf(known, hasUnknown);

        const agrees = await dueStore(at.pool).agreesWith(digestOf(list));

        seen[agrees ? 'agreed' : 'differed'] += 1;
        if (agrees) expect(await findsNothing(list)).toBe(true);
      }),
      { numRuns: 150 },
    );
    expect(seen.agreed).toBeGreaterThan(10);
    expect(seen.differed).toBeGreaterThan(10);
  });

  it('agrees with rows that are steady, in whatever order they are listed', async () => {
    const steady: Known = { hasNamespace: true, uid: 'uid', observed: 'h1', lease: 'none', listed: 'as observed' };
    // Names of different lengths, which collations order differently.
    const known = Array.from({ length: 12 }, () => steady);
    await insert(known);

    const list = listOf(known, false);

    expect(await dueStore(at.pool).agreesWith(digestOf(list))).toBe(true);
    expect(await dueStore(at.pool).agreesWith(digestOf(list.toReversed()))).toBe(true);
  });

  it('agrees with an empty list while there is no cluster, or only clusters without a Shoot', async () => {
    await insert([]);
    expect(await dueStore(at.pool).agreesWith(digestOf([]))).toBe(true);

    await insert([{ hasNamespace: false, uid: null, observed: null, lease: 'none', listed: 'not' }]);
    expect(await dueStore(at.pool).agreesWith(digestOf([]))).toBe(true);
  });
});
