import { ownerLabelOf } from '@corral/contracts';
import { mirrorStore, type RrsetScope } from '@corral/dns-mirror';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseRrsetQuery } from '../src/domain/list-query.js';
import { selectRrsets } from '../src/domain/select-rrsets.js';
import { startGateway, type TestGateway } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

/** Labels that sort differently by bytes and by any language, and that contain each other. */
const label = fc.constantFrom('a', 'b', 'a-b', 'ab', '_a', 'acme', 'xacme', 'prod', '1', '*');
const name = fc
  .tuple(fc.array(label, { maxLength: 3 }), fc.constantFrom('acme', 'globex', 'xacme', 'prod.acme', '@', '*'))
  .map(([labels, end]) => [...labels, end].join('.'));
const set = fc.record({ name, type: fc.constantFrom('A', 'AAAA', 'CNAME', 'MX', 'TXT') });
const sets = fc.uniqueArray(set, { selector: ({ name, type }) => `${name}/${type}`, maxLength: 30 });
const root = fc.constantFrom('acme', 'prod.acme', 'a.acme', '_a.acme', 'globex', 'hooli');

/** Replaces all that is mirrored. */
async function mirror(all: readonly { name: string; type: string }[]): Promise<void> {
  const columns = [all.map((one) => one.name), all.map((one) => one.type), all.map((one) => ownerLabelOf(one.name))];
  await gateway.pool.query('DELETE FROM dns_rrset');
  await gateway.pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
     SELECT $1, name, type, owner, 1, json_build_object('id', name || '/' || type)::text
     FROM unnest($2::text[], $3::text[], $4::text[]) AS given (name, type, owner)`,
    [gateway.zoneId, ...columns],
  );
}

it('a page made by SQL is the page that sorting all of the scope gives', async () => {
  const store = mirrorStore(gateway.pool);
  await fc.assert(
    fc.asyncProperty(sets, root, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 5 }), async (...given) => {
      const [all, wantedRoot, perPage, page] = given;
      await mirror(all);
      const scope: RrsetScope = {
        ...{ zoneId: gateway.zoneId, ownerLabel: ownerLabelOf(wantedRoot), root: wantedRoot },
      };

      const paged = await store.pageRrsets(scope, perPage, (page - 1) * perPage);

      const query = parseRrsetQuery(new URLSearchParams({ page: String(page), per_page: String(perPage) }));
      const mine = all.filter((one) => one.name === wantedRoot || one.name.endsWith(`.${wantedRoot}`));
      const selected = selectRrsets(await store.listRrsets(scope), query);
      expect(paged).toEqual({ total: selected.total, bodies: selected.bodies.join(',') });
      expect(paged.total).toBe(mine.length);
      for (const { name, type } of all) {
        const found = await store.findRrset(scope, name, type);
        expect(found !== null).toBe(mine.some((one) => one.name === name && one.type === type));
      }
    }),
    { numRuns: 60 },
  );
});
