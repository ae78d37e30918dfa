import { checkDnsAnswer, ownerLabelOf } from '@corral/contracts';
import { mirrorStore, type RrsetScope } from '@corral/dns-data';
import { type FlakyProxy, startFlakyProxy } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseRrsetQuery } from '../src/http/request.js';
import { expectRefusal } from './support/expect-refusal.js';
import { type MirroredRrset, selectRrsets } from './support/select-rrsets.js';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

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

  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    for (const [name, type, labels] of held) gateway.cloud.admin.putRrset(ZONE, name, type, { labels, records });
    await gateway.syncZone();
  });
  afterAll(() => gateway.close());

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

    it('passes on bodies byte for byte', async () => {
      const { text } = await list('?name=mail.acme');

      expect(text).toContain(
        `{"id":"mail.acme/MX","name":"mail.acme","type":"MX","ttl":null,"labels":{},"protection":{"change":false},"records":[{"value":"192.0.2.1","comment":""}],"zone":${gateway.zoneId}}`,
      );
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
      ['?name=globex', []],
      ['?name=API.acme', []],
      ['?name=@', []],
      ['?name=%00', []],
      ['?name=*.apps.acme', ['*.apps.acme/CNAME']],
      ['?name=%2A.apps.acme', ['*.apps.acme/CNAME']],
      ['?type=A', ['a.prod.acme/A', 'api.acme/A']],
      ['?type=A&type=TXT', ['a.prod.acme/A', 'acme/TXT', 'api.acme/A']],
      ['?type=A,TXT', []],
      ['?name=api.acme&type=AAAA', ['api.acme/AAAA']],
      ['?label_selector=env', ['acme/TXT', 'api.acme/A', 'api.acme/AAAA']],
      ['?label_selector=env%20in%20(test)', ['api.acme/AAAA']],
      ['?label_selector=env%3D%3Dprod,!stage', ['acme/TXT', 'api.acme/A']],
      ['?sort=id%3Aasc&page=1&per_page=50', ofAcme],
      ['?sort=id%3Adesc', ofAcme.toReversed()],
      ['?sort=name:desc&sort=id:desc&name=api.acme', ['api.acme/AAAA', 'api.acme/A']],
      ['?per_page=4', ofAcme.slice(0, 4)],
      ['?per_page=4&page=2', ofAcme.slice(4)],
      ['?per_page=4&page=3', []],
      ['?page=9007199254740991', []],
      ['?owner_label=globex&team=globex', ofAcme],
    ])('%s lists %j', async (query, ids) => {
      const answer = await list(query);

      expect(answer.status).toBe(200);
      checkDnsAnswer.rrsetList(answer.json);
      expect(idsOf(answer)).toEqual(ids);
    });

    it.each(['', '&type=A&type=AAAA&type=TXT&type=CNAME&type=MX', '&sort=name'])(
      'next_page leads through all pages and shows each set once%s',
      async (filters) => {
        const walked: string[] = [];
        for (let page: number | null = 1; page !== null; ) {
          const answer = await list(`?per_page=2&page=${page}${filters}`);
          walked.push(...idsOf(answer as never));
          page = answer.json.meta.pagination.next_page as number | null;
        }

        expect(walked).toEqual(ofAcme);
      },
    );

    it('treats per_page=100 as 50 and says so', async () => {
      expect((await list('?per_page=100')).json.meta.pagination).toMatchObject({ per_page: 50, last_page: 1 });
    });

    it.each([
      'page=0',
      'page=x',
      'page=1&page=2',
      'per_page=0',
      'per_page=x',
      'per_page=1.5',
      'per_page=',
      'sort=ttl',
      'sort=id%3Aup',
      'label_selector=%2C',
      'label_selector=a%20b',
    ])('refuses %s', async (query) => {
      await expectRefusal(gateway, () => list(`?${query}`), 400, 'invalid_input');
    });
  });

  describe('GET /zones/{zone}/rrsets/{name}/{type}', () => {
    const read = (path: string, token?: string) =>
      gateway.call('GET', `/zones/${ZONE}/rrsets/${path}`, token ? { token } : {});

    it.each([
      ['api.acme/A', 'api.acme/A'],
      ['mail.acme/MX', 'mail.acme/MX'],
      ['*.apps.acme/CNAME', '*.apps.acme/CNAME'],
      ['%2A.apps.acme/CNAME', '*.apps.acme/CNAME'],
      ['%61pi.acme/%41', 'api.acme/A'],
    ])('%s is the set %s', async (path, id) => {
      const before = gateway.upstreamCalls();

      const answer = await read(path);

      expect(answer.status).toBe(200);
      checkDnsAnswer.rrset(answer.json);
      expect([answer.json.rrset.id, gateway.upstreamCalls()]).toEqual([id, before]);
    });

    it.each([
      'none.acme/A',
      'api.acme/TXT',
      'api.acme/a',
      'globex/A',
      'xacme/A',
      'www/A',
      '@/SOA',
      '%40/NS',
      'API.acme/A',
      'api.acme./A',
      `api.acme.${ZONE}/A`,
      '%2561pi.acme/A',
      '..%2Fapi.acme/A',
      'api.acme%00/A',
      'api.acme%2FA/A',
    ])('%s is not found, and the answer does not show why', async (path) => {
      const absent = await read('none.acme/A');

      const answer = await expectRefusal(gateway, () => read(path), 404, 'not_found');

      expect(answer.text).toBe(absent.text);
    });
  });
});

describe('zones', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

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
      ['name=EXAMPLE.TEST', 0],
      [`name=${ZONE}.`, 0],
      ['name=test', 0],
      ['name=www.example.test', 0],
      ['name=', 0],
      ['mode=primary', 1],
      ['mode=secondary', 0],
      ['label_selector=env', 0],
      ['label_selector=!env', 1],
      ['label_selector=', 1],
      ['sort=id%3Aasc&page=1&per_page=50', 1],
      ['sort=name%3Adesc&sort=created', 1],
      ['unknown=1', 1],
    ])('with %s lists %i zones', async (query, count) => {
      const { status, json } = await get(`/zones?${query}`);

      expect(status).toBe(200);
      checkDnsAnswer.zoneList(json);
      expect([json.zones.length, json.meta.pagination.total_entries]).toEqual([count, count]);
    });

    it('ends after its only page', async () => {
      const { json } = await get('/zones?page=2');

      checkDnsAnswer.zoneList(json);
      expect(json.zones).toEqual([]);
      expect(json.meta.pagination).toMatchObject({ page: 2, previous_page: 1, next_page: null, last_page: 1 });
    });

    it('treats per_page=100, which some clients send, as 50 and says so', async () => {
      const { status, json } = await get('/zones?per_page=100');

      expect([status, json.meta.pagination.per_page]).toEqual([200, 50]);
    });

    it.each(['page=0', 'page=x', 'per_page=0', 'per_page=x', 'per_page=-1', 'sort=ttl', 'label_selector=a%20b'])(
      'refuses %s and names the parameter',
      async (query) => {
        const answer = await expectRefusal(gateway, () => get(`/zones?${query}`), 400, 'invalid_input');

        expect(answer.json.error.details.fields[0].name).toBe(query.split('=')[0]);
      },
    );
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

    it.each([
      'other.test',
      'www.example.test',
      'test',
      'EXAMPLE.TEST',
      'example.test.',
      '1',
      '0',
      '07001',
      '-1',
      '%00',
      '@',
    ])('%s does not exist', async (zone) => {
      await expectRefusal(gateway, () => get(`/zones/${zone}`), 404, 'not_found');
    });

    it.each(['GET', 'POST'])('%s of the record sets of an unknown zone is answered 404', async (method) => {
      const send = () => gateway.call(method, '/zones/other.test/rrsets', method === 'POST' ? { body: '{broken' } : {});

      await expectRefusal(gateway, send, 404, 'not_found');
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
      await create('a.globex', gateway.globex, 7);
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

describe('any pages', () => {
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
    withinName: root,
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
});

describe('large teams', () => {
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
});
