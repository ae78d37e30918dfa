import { beforeAll, describe, expect, it } from '@jest/globals';
import { type LabelRequirement, mirrorStore, type RrsetSelection, type SortKey } from '../src/index.js';
import { mirrorFixture, ZONE_ID } from './mirror-database.js';

const SETS = 3_000;
const OWNER = 'acme';
const all: RrsetSelection = { name: null, types: [], labels: null, sort: [] };
const labelled = (...labels: LabelRequirement[]): RrsetSelection => ({ ...all, labels });
const prod = { key: 'env', values: ['prod'], negated: false };
const sorted = (by: SortKey['by'], descending: boolean): RrsetSelection => ({ ...all, sort: [{ by, descending }] });

const given = mirrorFixture();

/** Every tenth set has the label `env=prod`, three sets have the type `TXT`. One has a comment that Postgres cannot read as text. */
beforeAll(async () => {
  await given.database.pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body, first_seen_at)
     SELECT $1, 's' || n || '.' || $2, CASE WHEN n % 1000 = 7 THEN 'TXT' ELSE 'A' END, $2, 1,
            '{"n":' || n || ',"comment":"' || CASE n WHEN 5 THEN '\\u0000\\ud800' ELSE '' END || '","labels":'
              || CASE WHEN n % 10 = 0 THEN '{"env":"prod"}' ELSE '{}' END || '}',
            now() - n * interval '1 s'
     FROM generate_series(0, $3::int - 1) AS n`,
    [ZONE_ID, OWNER, SETS],
  );
});

describe('a page of an owner with many sets', () => {
  it.each<[string, RrsetSelection, number, number]>([
    ['of all', all, SETS, 0],
    ['in reverse order', sorted('id', true), SETS, 999],
    ['by name', sorted('name', true), SETS, 999],
    ['of the newest', sorted('created', true), SETS, 0],
    ['of the oldest', sorted('created', false), SETS, SETS - 1],
    ['of a frequent type', { ...all, types: ['A'] }, SETS - 3, 0],
    ['of a rare type', { ...all, types: ['TXT'] }, 3, 1_007],
    ['of a type that none has', { ...all, types: ['MX'] }, 0, Number.NaN],
    ['of two types', { ...all, types: ['TXT', 'A'] }, SETS, 0],
    ['of a name', { ...all, name: `s7.${OWNER}` }, 1, 7],
    ['of a label', labelled(prod), 300, 0],
    ['of a label with one of two values', labelled({ ...prod, values: ['test', 'prod'] }), 300, 0],
    ['of a label with any value', labelled({ ...prod, values: null }), 300, 0],
    ['without a label', labelled({ ...prod, negated: true }), SETS - 300, 1],
  ])('%s states how many there are, and has only its own', async (_what, selection, total, first) => {
    const scope = { zoneId: ZONE_ID, ownerLabel: OWNER, root: OWNER };

    const page = await mirrorStore(given.database.pool).pageRrsets({ scope, selection, limit: 25, offset: 0 });

    const numbers = (JSON.parse(`[${page.bodies}]`) as { n: number }[]).map(({ n }) => n);
    expect(page.total).toBe(total);
    expect(numbers).toHaveLength(Math.min(25, total));
    expect(numbers[0] ?? Number.NaN).toBe(first);
  });
});
