import { ownerLabelOf } from '@corral/contracts';
import { mirrorStore, type RrsetScope } from '@corral/dns-data';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseRrsetQuery } from '../src/rrsets/list-query.js';
import { type MirroredRrset, selectRrsets } from './support/select-rrsets.js';
import { startGateway, type TestGateway } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

interface Given {
  readonly name: string;
  readonly type: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** First seen time in milliseconds. */
  readonly seen?: number;
}

/** Replaces everything in the mirror. */
async function mirror(all: readonly Given[]): Promise<MirroredRrset[]> {
  const rows = all.map(({ name, type, labels = {}, seen = 0 }) => ({
    name,
    type,
    firstSeenAt: new Date(seen),
    body: JSON.stringify({ id: `${name}/${type}`, labels, records: [{ value: 'x', comment: '' }] }),
  }));
  await gateway.pool.query('DELETE FROM dns_rrset');
  await gateway.pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body, first_seen_at)
     SELECT $1, name, type, owner, 1, body, seen
     FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[]) AS given (name, type, owner, body, seen)`,
    [
      gateway.zoneId,
      rows.map((row) => row.name),
      rows.map((row) => row.type),
      rows.map((row) => ownerLabelOf(row.name)),
      rows.map((row) => row.body),
      rows.map((row) => row.firstSeenAt),
    ],
  );
  return rows;
}

const scopeAt = (root: string): RrsetScope => ({
  zoneId: gateway.zoneId,
  ownerLabel: ownerLabelOf(root),

  root,
});

function pageBy(root: string, text: string) {
  const { page, perPage, ...selection } = parseRrsetQuery(new URLSearchParams(text));
  const lookUp = { scope: scopeAt(root), selection, limit: perPage, offset: (page - 1) * perPage };
  return mirrorStore(gateway.pool).pageRrsets(lookUp);
}

describe('a page of record sets', () => {
  const held: Given[] = [
    { name: 'b.acme', type: 'A', seen: 1, labels: { env: 'prod' } },
    { name: 'acme', type: 'TXT', seen: 3, labels: { env: 'test' } },
    { name: 'a.acme', type: 'A', seen: 2 },
    { name: 'a.acme', type: 'AAAA', seen: 2, labels: { env: 'prod' } },
  ];

  it.each([
    ['', ['a.acme/A', 'a.acme/AAAA', 'acme/TXT', 'b.acme/A']],
    ['sort=id:desc', ['b.acme/A', 'acme/TXT', 'a.acme/AAAA', 'a.acme/A']],
    ['sort=name:desc', ['b.acme/A', 'acme/TXT', 'a.acme/A', 'a.acme/AAAA']],
    ['sort=created', ['b.acme/A', 'a.acme/A', 'a.acme/AAAA', 'acme/TXT']],
    ['sort=created:desc&sort=id:desc', ['acme/TXT', 'a.acme/AAAA', 'a.acme/A', 'b.acme/A']],
    ['sort=created&sort=created:desc&sort=created', ['b.acme/A', 'a.acme/A', 'a.acme/AAAA', 'acme/TXT']],
    ['name=a.acme', ['a.acme/A', 'a.acme/AAAA']],
    ['name=A.acme', []],
    ['name=', []],
    ['name=%00', []],
    ['type=A', ['a.acme/A', 'b.acme/A']],
    ['type=TXT&type=AAAA', ['a.acme/AAAA', 'acme/TXT']],
    ['type=a', []],
    ['type=%00', []],
    ['label_selector=env', ['a.acme/AAAA', 'acme/TXT', 'b.acme/A']],
    ['label_selector=!env', ['a.acme/A']],
    ['label_selector=env!%3Dprod', ['a.acme/A', 'acme/TXT']],
    ['label_selector=env%3Dprod&type=A&name=b.acme', ['b.acme/A']],
    ['label_selector=', ['a.acme/A', 'a.acme/AAAA', 'acme/TXT', 'b.acme/A']],
    ['per_page=3&page=2', ['b.acme/A']],
    ['per_page=3&page=3', []],
    ['page=9007199254740991', []],
  ])('for %j contains %j', async (text, ids) => {
    await mirror(held);

    const { bodies } = await pageBy('acme', text);

    expect((JSON.parse(`[${bodies}]`) as { id: string }[]).map(({ id }) => id)).toEqual(ids);
  });

  it('counts the sets of all pages, after the filters', async () => {
    await mirror(held);

    expect(await pageBy('acme', 'type=A&per_page=1&page=7')).toEqual({ total: 2, bodies: '' });
  });
});

/** Labels that sort differently by bytes and by locale, and that contain each other. */
const label = fc.constantFrom('a', 'b', 'a-b', 'ab', '_a', 'acme', 'xacme', 'prod', '1', '*');
const name = fc
  .tuple(fc.array(label, { maxLength: 3 }), fc.constantFrom('acme', 'globex', 'xacme', 'prod.acme', '@', '*'))
  .map(([labels, end]) => [...labels, end].join('.'));
const set = fc.record({
  name,
  type: fc.constantFrom('A', 'AAAA', 'CNAME', 'MX', 'TXT'),
  labels: fc.dictionary(fc.constantFrom('env', 'x/y', 'toString'), fc.constantFrom('', 'prod', 'test', '1')),
  seen: fc.nat({ max: 3 }),
});
const sets = fc.uniqueArray(set, { selector: ({ name, type }) => `${name}/${type}`, maxLength: 30 });
const root = fc.constantFrom('acme', 'prod.acme', 'a.acme', '_a.acme', 'globex', 'hooli');

const key = fc.constantFrom('env', 'x/y', 'toString', 'absent');
const value = fc.constantFrom('', 'prod', 'test', '1', 'none');
const requirement = fc.oneof(
  key.chain((one) => fc.constantFrom(one, `!${one}`)),
  fc.tuple(key, fc.constantFrom('=', '==', '!='), value).map((parts) => parts.join('')),
  fc
    .tuple(key, fc.constantFrom('in', 'notin'), fc.array(value, { minLength: 1, maxLength: 3 }))
    .map(([one, operator, values]) => `${one} ${operator} (${values.join(',')})`),
);
const asked = fc
  .record({
    page: fc.integer({ min: 1, max: 4 }).map((page) => [String(page)]),
    per_page: fc.integer({ min: 1, max: 8 }).map((count) => [String(count)]),
    name: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: name.map((one) => [one]) }),
    type: fc.array(fc.constantFrom('A', 'AAAA', 'TXT', 'a', ''), { maxLength: 2 }),
    label_selector: fc.array(requirement, { maxLength: 3 }).map((all) => (all.length === 0 ? [] : [all.join(',')])),
    sort: fc.array(
      fc
        .tuple(fc.constantFrom('id', 'name', 'created'), fc.constantFrom('', ':asc', ':desc'))
        .map((parts) => parts.join('')),
      { maxLength: 4 },
    ),
  })
  .map((query) => {
    const text = new URLSearchParams();
    for (const [parameter, values] of Object.entries<readonly string[]>(query)) {
      for (const one of values) text.append(parameter, one);
    }
    return text.toString();
  });

it('a page from SQL equals the page that the reference selects from the whole scope', async () => {
  const store = mirrorStore(gateway.pool);
  await fc.assert(
    fc.asyncProperty(sets, root, asked, async (all, wantedRoot, text) => {
      const mirrored = await mirror(all);
      const mine = mirrored.filter((one) => one.name === wantedRoot || one.name.endsWith(`.${wantedRoot}`));

      const paged = await pageBy(wantedRoot, text);

      const { page, perPage, ...selection } = parseRrsetQuery(new URLSearchParams(text));
      const selected = selectRrsets(mine, selection);
      const bodies = selected.slice((page - 1) * perPage, page * perPage).map(({ body }) => body);
      expect(paged).toEqual({ total: selected.length, bodies: bodies.join(',') });
      for (const one of all) {
        const found = await store.findRrset(scopeAt(wantedRoot), one.name, one.type);
        expect(found !== null).toBe(mine.some(({ name, type }) => name === one.name && type === one.type));
      }
    }),
    { numRuns: 150 },
  );
});
