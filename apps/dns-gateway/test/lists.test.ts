import { checkDnsAnswer } from '@corral/contracts';
import { type FlakyProxy, startFlakyProxy } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectRefusal } from './support/expect-refusal.js';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

describe('record sets', () => {
  const records = [{ value: '192.0.2.1' }];
  /** Sets that somebody created upstream. The SOA and the NS of the zone come in addition. */
  const held: [string, string, Record<string, string>][] = [
    ['acme', 'TXT', { env: 'prod' }],
    ['*.apps.acme', 'CNAME', {}],
    ['api.acme', 'A', { env: 'prod' }],
    ['api.acme', 'AAAA', { env: 'test' }],
    ['a.prod.acme', 'A', {}],
    ['mail.acme', 'MX', {}],
    ['xacme', 'A', {}],
    ['globex', 'A', {}],
    ['acme.globex', 'A', {}],
    ['www', 'A', {}],
  ];

  beforeAll(async () => {
    for (const [name, type, labels] of held) gateway.cloud.admin.putRrset(ZONE, name, type, { labels, records });
    await gateway.syncZone();
  });

  const list = (query = '', token?: string) =>
    gateway.call('GET', `/zones/${ZONE}/rrsets${query}`, token ? { token } : {});
  const idsOf = (answer: { json: { rrsets: { id: string }[] } }) => answer.json.rrsets.map((rrset) => rrset.id);

  const ofAcme = ['*.apps.acme/CNAME', 'a.prod.acme/A', 'acme/TXT', 'api.acme/A', 'api.acme/AAAA', 'mail.acme/MX'];

  describe('GET /zones/{zone}/rrsets', () => {
    it('lists only the sets of the team, without an upstream call', async () => {
      const before = gateway.upstreamCalls();

      const answer = await list();

      checkDnsAnswer.rrsetList(answer.json);
      expect(idsOf(answer)).toEqual(ofAcme);
      expect(answer.json.meta.pagination.total_entries).toBe(6);
      expect(gateway.upstreamCalls()).toBe(before);
    });

    it('gives the same answer for the ID of the zone', async () => {
      const byId = await gateway.call('GET', `/zones/${gateway.zoneId}/rrsets`);

      expect(byId.text).toBe((await list()).text);
    });

    it('shows another team its own sets', async () => {
      expect(idsOf(await list('', gateway.globex.token))).toEqual(['acme.globex/A', 'globex/A']);
    });

    it('shows a narrowed token the sets at and below its name', async () => {
      const { token } = await gateway.issueToken(gateway.acme, { withinName: 'prod.acme' });

      expect(idsOf(await list('', token))).toEqual(['a.prod.acme/A']);
    });

    it('shows a team without sets an empty list with one page', async () => {
      const { token } = await gateway.createTeam('hooli');

      const { json } = await list('', token);

      checkDnsAnswer.rrsetList(json);
      expect(json.rrsets).toEqual([]);
      expect(json.meta.pagination).toMatchObject({ last_page: 1, total_entries: 0, next_page: null });
    });

    it.each([
      ['?', ofAcme],
      ['?name=api.acme', ['api.acme/A', 'api.acme/AAAA']],
      ['?type=A', ['a.prod.acme/A', 'api.acme/A']],
      ['?label_selector=env%3D%3Dprod,!stage', ['acme/TXT', 'api.acme/A']],
      ['?sort=name:desc&sort=id:desc&name=api.acme', ['api.acme/AAAA', 'api.acme/A']],
      ['?per_page=4&page=3', []],
    ])('%s lists %j', async (query, ids) => {
      const answer = await list(query);

      expect(answer.status).toBe(200);
      checkDnsAnswer.rrsetList(answer.json);
      expect(idsOf(answer)).toEqual(ids);
    });

    it('next_page leads through all pages and shows each set once', async () => {
      const walked: string[] = [];
      for (let page: number | null = 1; page !== null; ) {
        const answer = await list(`?per_page=2&page=${page}`);
        walked.push(...idsOf(answer as never));
        page = answer.json.meta.pagination.next_page as number | null;
      }

      expect(walked).toEqual(ofAcme);
    });
  });

  describe('GET /zones/{zone}/rrsets/{name}/{type}', () => {
    const read = (path: string, token?: string) =>
      gateway.call('GET', `/zones/${ZONE}/rrsets/${path}`, token ? { token } : {});

    it.each([
      ['api.acme/A', 'api.acme/A'],
      ['%2A.apps.acme/CNAME', '*.apps.acme/CNAME'],
      ['%61pi.acme/%41', 'api.acme/A'],
    ])('%s is the set %s', async (path, id) => {
      const before = gateway.upstreamCalls();

      const answer = await read(path);

      expect(answer.status).toBe(200);
      checkDnsAnswer.rrset(answer.json);
      expect([answer.json.rrset.id, gateway.upstreamCalls()]).toEqual([id, before]);
    });

    it.each(['api.acme/TXT', 'xacme/A', '@/SOA', 'api.acme%2FA/A'])(
      '%s is not found, and the answer does not show why',
      async (path) => {
        const absent = await read('none.acme/A');

        const answer = await expectRefusal(gateway, () => read(path), 404, 'not_found');

        expect(answer.text).toBe(absent.text);
      },
    );
  });
});

describe('zones', () => {
  const get = (path: string) => gateway.call('GET', path);

  describe('GET /zones', () => {
    it('lists the one zone as the upstream states it, without an upstream call', async () => {
      const before = gateway.upstreamCalls();

      const answer = await get('/zones');

      expect(answer.status).toBe(200);
      checkDnsAnswer.zoneList(answer.json);
      expect(answer.json.zones).toMatchObject([{ id: gateway.zoneId, name: ZONE, mode: 'primary' }]);
      expect(answer.json.meta.pagination).toEqual({
        page: 1,
        per_page: 25,
        previous_page: null,
        next_page: null,
        last_page: 1,
        total_entries: 1,
      });
      expect(gateway.upstreamCalls()).toBe(before);
    });

    it.each([
      [`name=${ZONE}`, 1],
      ['mode=secondary', 0],
      ['label_selector=!env', 1],
    ])('with %s lists %i zones', async (query, count) => {
      const { status, json } = await get(`/zones?${query}`);

      expect(status).toBe(200);
      checkDnsAnswer.zoneList(json);
      expect([json.zones.length, json.meta.pagination.total_entries]).toEqual([count, count]);
    });
  });

  describe('GET /zones/{zone}', () => {
    it('gives the same zone by ID and by name', async () => {
      const [byName, byId] = await Promise.all([get(`/zones/${ZONE}`), get(`/zones/${gateway.zoneId}`)]);

      expect(byName.status).toBe(200);
      checkDnsAnswer.zone(byName.json);
      expect(byId.text).toBe(byName.text);
    });

    it('states id and name first, for clients that cut the text', async () => {
      expect((await get(`/zones/${ZONE}`)).text).toMatch(
        new RegExp(`^\\{"zone":\\{"id":${gateway.zoneId},"name":"${ZONE}"`),
      );
      expect((await get('/zones')).text).toMatch(
        new RegExp(`^\\{"zones":\\[\\{"id":${gateway.zoneId},"name":"${ZONE}"`),
      );
    });

    it.each(['other.test', '07001', '%00'])('%s does not exist', async (zone) => {
      await expectRefusal(gateway, () => get(`/zones/${zone}`), 404, 'not_found');
    });
  });

  describe('the record count of a zone', () => {
    it('counts only the records of the team', async () => {
      const team = await gateway.createTeam('counted');
      const create = (name: string, of: { token: string }, values: number) => {
        const records = Array.from({ length: values }, (_, at) => ({ value: `192.0.2.${at}` }));
        return gateway.call('POST', `/zones/${ZONE}/rrsets`, { token: of.token, body: { name, type: 'A', records } });
      };
      await create('a.counted', team, 3);
      await create('in.counted', team, 2);
      await create('a.uncounted', await gateway.createTeam('uncounted'), 7);
      const { token } = await gateway.issueToken(team, { withinName: 'in.counted' });

      const counts = async (of: string) => {
        const [one, list] = await Promise.all(
          [`/zones/${ZONE}`, '/zones'].map((path) => gateway.call('GET', path, { token: of })),
        );
        checkDnsAnswer.zone(one?.json);
        return [one?.json.zone.record_count, list?.json.zones[0].record_count];
      };
      expect(await counts(team.token)).toEqual([5, 5]);
      expect(await counts(token)).toEqual([2, 2]);
    });
  });
});

describe('large teams', () => {
  /** So many, and so large, that all of them together are much more than a page. */
  const [SETS, COMMENT_BYTES] = [2_000, 4_000];

  let through: TestGateway;
  let toDatabase: FlakyProxy;
  let token: string;
  beforeAll(async () => {
    ({ token } = await gateway.createTeam('large'));
    const url = new URL(gateway.databaseUrl);
    toDatabase = await startFlakyProxy({ host: url.hostname, port: Number(url.port) });
    url.port = String(toDatabase.port);
    through = await startGateway({ beside: { ...gateway, databaseUrl: url.href } });
    await gateway.pool.query(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
       SELECT $1, name, 'A', 'large', 1,
              json_build_object('id', name || '/A', 'name', name, 'type', 'A', 'ttl', 300,
                                'labels', json_build_object('env', CASE WHEN n % 10 = 0 THEN 'prod' ELSE 'test' END),
                                'protection', json_build_object('change', false),
                                'records', json_build_array(json_build_object('value', '192.0.2.1', 'comment', repeat('c', $3))),
                                'zone', $1::bigint)::text
       FROM (SELECT n, 's' || n || '.large' AS name FROM generate_series(1, $2::int) AS n) AS named`,
      [gateway.zoneId, SETS, COMMENT_BYTES],
    );
  });
  afterAll(async () => {
    await through.close();
    await toDatabase.close();
  });

  describe('a list of a team with many large record sets', () => {
    it.each(['?page=60', '?sort=created:desc', '?label_selector=env=prod'])(
      'takes no more from the database than its page: %s',
      async (query) => {
        await through.call('GET', `/zones/${ZONE}`, { token });
        const before = toDatabase.bytesSent();

        const { status, text, json } = await through.call('GET', `/zones/${ZONE}/rrsets${query}`, { token });

        expect([status, json.rrsets.length]).toEqual([200, 25]);
        expect(toDatabase.bytesSent() - before).toBeLessThan(2 * text.length);
      },
    );
  });
});
