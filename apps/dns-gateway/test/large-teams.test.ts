import { type FlakyProxy, startFlakyProxy } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

/** So many, and so large, that all of them together are much more than a page. */
const [SETS, COMMENT_BYTES] = [2_000, 4_000];

let base: TestGateway;
let gateway: TestGateway;
let toDatabase: FlakyProxy;
beforeAll(async () => {
  base = await startGateway();
  const url = new URL(base.databaseUrl);
  toDatabase = await startFlakyProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(toDatabase.port);
  gateway = await startGateway({ beside: { ...base, databaseUrl: url.href } });
  await base.pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
     SELECT $1, name, 'A', 'acme', 1,
            json_build_object('id', name || '/A', 'name', name, 'type', 'A', 'ttl', 300,
                              'labels', json_build_object('env', CASE WHEN n % 10 = 0 THEN 'prod' ELSE 'test' END),
                              'protection', json_build_object('change', false),
                              'records', json_build_array(json_build_object('value', '192.0.2.1', 'comment', repeat('c', $3))),
                              'zone', $1::bigint)::text
     FROM (SELECT n, 's' || n || '.acme' AS name FROM generate_series(1, $2::int) AS n) AS named`,
    [base.zoneId, SETS, COMMENT_BYTES],
  );
});
afterAll(async () => {
  await gateway.close();
  await toDatabase.close();
  await base.close();
});

describe('a list of a team with many large record sets', () => {
  it.each(['', '?page=60', '?sort=name:desc', '?sort=created:desc', '?type=A', '?label_selector=env=prod'])(
    'takes no more from the database than its page: %s',
    async (query) => {
      await gateway.call('GET', `/zones/${ZONE}`);
      const before = toDatabase.bytesSent();

      const { status, text, json } = await gateway.call('GET', `/zones/${ZONE}/rrsets${query}`);

      expect([status, json.rrsets.length]).toEqual([200, 25]);
      expect(toDatabase.bytesSent() - before).toBeLessThan(2 * text.length);
    },
  );
});
