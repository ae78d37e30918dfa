import { effectOf, endOfAccepted, parseRrsetWrite, type RrsetKey, type RrsetWriteKind } from '@corral/dns-data';
import { connectHcloud, type HcloudClient } from '@corral/hcloud';
import { type LocalCloud, startLocalCloud } from '@corral/local-cloud';
import { silentLog } from '@corral/service';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

describe('any writes', () => {
  const TOKEN = 'a-token-for-the-local-cloud';

  let cloud: LocalCloud;
  let upstream: HcloudClient;
  let zoneId: number;
  beforeAll(async () => {
    cloud = await startLocalCloud({ tokens: [TOKEN], zones: [{ name: 'example.test' }], requestsPerHour: 36_000_000 });
    upstream = connectHcloud({ baseUrl: cloud.apiUrl, token: TOKEN, log: silentLog });
    const zone = await upstream.readZone('example.test');
    zoneId = zone.kind === 'found' ? zone.id : 0;
  });
  afterAll(async () => {
    upstream.close();
    await cloud.close();
  });

  const comment = fc.option(fc.constantFrom('', 'one', 'zwei ü', '"quoted"\\'), { nil: undefined });
  const record = fc.record(
    { value: fc.integer({ min: 1, max: 6 }).map((last) => `192.0.2.${last}`), comment },
    { requiredKeys: ['value'] },
  );
  const records = fc.uniqueArray(record, { minLength: 1, maxLength: 4, selector: ({ value }) => value });
  const ttl = fc.constantFrom(null, 60, 3_600);
  const labels = fc.dictionary(fc.constantFrom('env', 'tier'), fc.constantFrom('', 'a', 'b'));

  const request: fc.Arbitrary<{ operation: RrsetWriteKind; body: object | null }> = fc.oneof(
    fc.record({
      operation: fc.constant('create' as const),
      body: fc.record({ records, ttl, labels }, { requiredKeys: ['records'] }),
    }),
    fc.record({
      operation: fc.constant('add_records' as const),
      body: fc.record({ records, ttl }, { requiredKeys: ['records'] }),
    }),
    fc.record({
      operation: fc.constantFrom('set_records' as const, 'remove_records' as const),
      body: fc.record({ records }),
    }),
    fc.record({ operation: fc.constant('change_ttl' as const), body: fc.record({ ttl }) }),
    fc.record({ operation: fc.constant('update' as const), body: fc.record({ labels }) }),
    fc.record({ operation: fc.constant('delete' as const), body: fc.constant(null) }),
  );

  let runs = 0;

  it('the mirrored body of a record set equals that of the upstream after any sequence of writes', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 10 }), async (requests) => {
        runs += 1;
        const key: RrsetKey = { zoneId, name: `run${runs}.acme`, type: 'A' };
        let mirrored: string | null = null;
        for (const { operation, body } of requests) {
          const outcome = await send(key, operation, body);
          if (outcome.kind !== 'accepted') continue;
          accepted += 1;
          const write = parseRrsetWrite(operation, operation === 'create' ? { ...key, ...body } : body);
          const end = endOfAccepted(key, write, mirrored, outcome);
          // The effect is computed even when the answer of the upstream states the set: both must agree.
          const computed = effectOf(key, mirrored, write, null);
          mirrored = end?.state === 'completed' ? end.rrset : mirrored;

          const found = await upstream.readRrset(zoneId, key.name, key.type);
          const stated = found.kind === 'found' ? JSON.parse(found.body) : null;
          expect(end).toMatchObject({ state: 'completed', recheck: false });
          expect(computed === null ? null : JSON.parse(computed)).toEqual(stated);
          expect(mirrored === null ? null : JSON.parse(mirrored)).toEqual(stated);
        }
      }),
      { numRuns: 60 },
    );
    expect(accepted).toBeGreaterThan(60); // most sequences changed something
  });

  function send({ name, type }: RrsetKey, operation: RrsetWriteKind, body: object | null) {
    const sent = operation === 'create' ? { name, type, ...body } : body;
    const method = operation === 'delete' ? 'DELETE' : operation === 'update' ? 'PUT' : 'POST';
    const below = { create: [], delete: [name, type], update: [name, type] } as Partial<Record<string, string[]>>;
    const segments = ['zones', String(zoneId), 'rrsets', ...(below[operation] ?? [name, type, 'actions', operation])];
    return upstream.write({
      team: 'acme',
      method,
      segments,
      body: sent === null ? null : Buffer.from(JSON.stringify(sent)),
    });
  }
});
