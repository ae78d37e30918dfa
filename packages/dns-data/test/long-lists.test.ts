import { beforeAll, describe, expect, it } from '@jest/globals';
import type { LabelRequirement, RrsetSelection, SortKey } from '../src/index.js';
import { pageStatement } from '../src/mirror/rrset-page.js';
import { mirrorFixture, ZONE_ID } from './mirror-database.js';

const SETS = 3_000;
const OWNER = 'acme';
const all: RrsetSelection = { name: null, types: [], labels: null, sort: [] };
const labelled = (...labels: LabelRequirement[]): RrsetSelection => ({ ...all, labels });
const prod = { key: 'env', values: ['prod'], negated: false };
const sorted = (by: SortKey['by'], descending: boolean): RrsetSelection => ({ ...all, sort: [{ by, descending }] });

const given = mirrorFixture();

/**
 * Every tenth set has the label `env=prod`, three sets have the type `TXT`. A thousand others have a set each, so Postgres expects that
 * an owner has few.
 */
beforeAll(async () => {
  const { pool } = given.database;
  await pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
     SELECT $1, 'www.other-' || n, 'A', 'other-' || n, 1, '{}' FROM generate_series(1, 1000) AS n`,
    [ZONE_ID],
  );
  await pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body, first_seen_at)
     SELECT $1, 's' || n || '.' || $2, CASE WHEN n % 1000 = 7 THEN 'TXT' ELSE 'A' END, $2, 1,
            json_build_object('n', n, 'labels', CASE WHEN n % 10 = 0 THEN '{"env":"prod"}' ELSE '{}' END::json)::text,
            now() - n * interval '1 s'
     FROM generate_series(0, $3::int - 1) AS n`,
    [ZONE_ID, OWNER, SETS],
  );
  await pool.query('VACUUM ANALYZE');
});

interface Plan {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** Rows that the plan took from tables. */
function rowsRead(plan: Plan): number {
  const own =
    plan['Relation Name'] === undefined
      ? 0
      : (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
  return (plan.Plans ?? []).reduce((sum, part) => sum + rowsRead(part), own);
}

async function readPage(selection: RrsetSelection, offset = 0) {
  const scope = { zoneId: ZONE_ID, ownerLabel: OWNER, root: OWNER };
  const { text, values } = pageStatement({ scope, selection, limit: 25, offset });
  const { pool } = given.database;
  const page = await pool.query<{ total: number; bodies: string }>(text, values);
  const explained = await pool.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
    values,
  );
  const [{ total, bodies }] = page.rows as [{ total: number; bodies: string }];
  const [{ 'QUERY PLAN': plans }] = explained.rows as [{ 'QUERY PLAN': [{ Plan: Plan }] }];
  const numbers = (JSON.parse(`[${bodies}]`) as { n: number }[]).map(({ n }) => n);
  return { total, numbers, read: rowsRead(plans[0].Plan) };
}

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
  ])('%s is counted and read without the others', async (_what, selection, total, first) => {
    const page = await readPage(selection);

    expect(page).toEqual({ total, numbers: expect.anything(), read: expect.any(Number) });
    expect(page.numbers[0] ?? Number.NaN).toBe(first);
    expect(page.numbers.length).toBe(Math.min(25, total));
    expect(page.read).toBeLessThan(300);
  });

  it('further back is read up to there', async () => {
    const page = await readPage(all, 500);

    expect(page.numbers.length).toBe(25);
    expect(page.read).toBeLessThan(700);
  });
});
