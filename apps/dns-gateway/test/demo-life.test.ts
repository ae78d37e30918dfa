import { checkDnsAnswer } from '@corral/contracts';
import { demoEnds } from '@corral/dns-data';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ageDemo, createSet, entriesOf, makeDemo, type TestDemo, untilRefused, upstreamSets } from './support/demos.js';
import { expectError, expectRefusal } from './support/expect-refusal.js';
import {
  type Answer,
  DEMO_ZONE,
  startGateway,
  type TestGateway,
  type TestTeam,
  ZONE,
} from './support/start-gateway.js';

describe('the life of a demo', () => {
  const DAY_SECONDS = 86_400;

  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  const get = (label: string, token: string): Promise<Answer> => gateway.call('GET', `/demos/${label}`, { token });
  const list = (token: string, query = ''): Promise<Answer> => gateway.call('GET', `/demos${query}`, { token });
  const extend = (label: string, token: string, body: unknown): Promise<Answer> =>
    gateway.call('POST', `/demos/${label}/actions/extend`, { token, body });
  const end = (label: string, token: string): Promise<Answer> => gateway.call('DELETE', `/demos/${label}`, { token });
  const idOf = ({ headers }: Answer) => headers.get('x-correlation-id');

  describe('GET /demos', () => {
    it('lists the team’s live demos without tokens, oldest first', async () => {
      const team = await gateway.createTeam('lists');
      const demos: TestDemo[] = [];
      for (const name of ['b', 'c', 'a']) demos.push(await makeDemo(gateway, { name: `${name} of lists` }, team.token));
      await end('c-of-lists', team.token);

      const answer = await list(team.token);

      expect(answer.status).toBe(200);
      checkDnsAnswer.demoList(answer.json);
      expect(answer.json.demos.map(({ label }: TestDemo) => label)).toEqual(['b-of-lists', 'a-of-lists']);
      for (const { token } of demos) expect(answer.text).not.toContain(token);
      const { json } = await list(team.token, '?page=2&per_page=1');
      expect(json.demos.map(({ label }: TestDemo) => label)).toEqual(['a-of-lists']);
      expect(json.meta.pagination).toMatchObject({ previous_page: 1, next_page: null, last_page: 2, total_entries: 2 });
    });

    it('is forbidden to a demo, even for itself', async () => {
      const { token } = await makeDemo(gateway);

      await expectRefusal(gateway, () => list(token), 403, 'forbidden');
    });
  });

  describe('GET /demos/{label}', () => {
    it('gives the same answer to the team and the demo', async () => {
      const { label, token } = await makeDemo(gateway, {}, gateway.globex.token);
      await createSet(gateway, token, label, 3);
      await createSet(gateway, token, `api.${label}`, 2);

      const [toTeam, toDemo] = [await get(label, gateway.globex.token), await get(label, token)];

      expect(toTeam.status).toBe(200);
      checkDnsAnswer.demo(toTeam.json);
      expect(toTeam.json.demo).toMatchObject({ label, zone: DEMO_ZONE, records: 5 });
      expect(toDemo.text).toBe(toTeam.text);
    });

    it('gives the same answer for a foreign, an ended and an unknown demo', async () => {
      const team = await gateway.createTeam('reads');
      const over = await makeDemo(gateway, {}, team.token);
      const deleted = await makeDemo(gateway, {}, team.token);
      const foreign = await makeDemo(gateway, {}, gateway.globex.token);
      await ageDemo(gateway, over.label, DAY_SECONDS);
      await end(deleted.label, team.token);
      const texts = new Set<string>();

      for (const label of [over.label, deleted.label, foreign.label, 'never-was', 'Not-A-Label', '%00', '*', '@']) {
        texts.add((await expectRefusal(gateway, () => get(label, team.token), 404, 'not_found')).text);
      }

      expect(texts).toEqual(
        new Set(['{"error":{"code":"not_found","message":"The demo does not exist.","details":null}}']),
      );
    });

    it('is forbidden to a restricted token', async () => {
      const team = await gateway.createTeam('narrow');
      const { label } = await makeDemo(gateway, {}, team.token);
      const { token } = await gateway.issueToken(team, { withinName: 'ci.narrow' });

      await expectRefusal(gateway, () => get(label, token), 403, 'forbidden');
      await expectRefusal(gateway, () => list(token), 403, 'forbidden');
      await expectRefusal(gateway, () => extend(label, token, { ttl: 300 }), 403, 'forbidden');
      await expectRefusal(gateway, () => end(label, token), 403, 'forbidden');
    });
  });

  describe('POST /demos/{label}/actions/extend', () => {
    let team: TestTeam;
    beforeAll(async () => {
      team = await gateway.createTeam('extends');
    });

    it.each(['team', 'demo'])('sets the expiry to ttl seconds from now for the %s', async (by) => {
      const { label, token } = await makeDemo(gateway, { ttl: 600 }, team.token);

      const begunAt = Date.now();
      const answer = await extend(label, by === 'team' ? team.token : token, { ttl: 7_200 });

      expect(answer.status).toBe(200);
      checkDnsAnswer.demo(answer.json);
      expect(answer.json.demo.ttl).toBe(7_200);
      expect(Date.parse(answer.json.demo.expires_at) - begunAt).toBeGreaterThan(7_190_000);
      expect((await get(label, token)).text).toBe(answer.text);
      expect(await entriesOf(gateway, label)).toMatchObject([
        { operation: 'create' },
        { operation: 'extend', type: 'DEMO' },
      ]);
    });

    it('never extends beyond 7 days after the creation', async () => {
      const { label } = await makeDemo(gateway, { ttl: DAY_SECONDS }, team.token);
      await ageDemo(gateway, label, DAY_SECONDS / 2);

      const { demo } = (await extend(label, team.token, { ttl: 7 * DAY_SECONDS })).json;

      expect(Date.parse(demo.expires_at) - Date.parse(demo.created_at)).toBe(7 * DAY_SECONDS * 1_000);
    });

    it('does not revive an expired demo', async () => {
      const { label, token } = await makeDemo(gateway, { ttl: 300 }, team.token);
      await ageDemo(gateway, label, 300);
      await untilRefused(gateway, token);

      await expectRefusal(gateway, () => extend(label, team.token, { ttl: 300 }), 404, 'not_found');
      await expectRefusal(gateway, () => extend(label, token, { ttl: 300 }), 401, 'unauthorized');
    });
  });

  describe('DELETE /demos/{label}', () => {
    it.each(['team', 'demo'])('deletes the records immediately and revokes the token for the %s', async (by) => {
      const team = await gateway.createTeam(`deletes-by-${by}`);
      const { label, token } = await makeDemo(gateway, {}, team.token);
      const kept = await makeDemo(gateway, {}, team.token);
      // A demo reaches no other one, even of the same team.
      await expectRefusal(gateway, () => get(label, kept.token), 404, 'not_found');
      await expectRefusal(gateway, () => extend(label, kept.token, { ttl: 300 }), 404, 'not_found');
      await expectRefusal(gateway, () => end(label, kept.token), 404, 'not_found');
      await expectRefusal(gateway, () => end(label, gateway.globex.token), 404, 'not_found');
      for (const name of [label, `*.${label}`, `a.b.${label}`]) await createSet(gateway, token, name);
      await createSet(gateway, kept.token, kept.label);

      const answer = await end(label, by === 'team' ? team.token : token);

      expect([answer.status, answer.text]).toEqual([204, '']);
      await untilRefused(gateway, token);
      expect(upstreamSets(gateway, label)).toEqual([]);
      expect(upstreamSets(gateway, kept.label)).toEqual([`${kept.label}/A`]);
      await expectRefusal(gateway, () => get(label, token), 401, 'unauthorized');
      await expectRefusal(gateway, () => get(label, team.token), 404, 'not_found');
      const entries = (await entriesOf(gateway, label)).filter(({ operation }) => operation === 'delete');
      expect(entries.map(({ type, state, team_id }) => [type, state, team_id])).toEqual([
        ['DEMO', 'completed', team.id],
        ...Array.from({ length: 3 }, () => ['A', 'completed', team.id]),
      ]);
    });

    it('ends the demo even while the upstream fails every deletion, and leaves the records to the reconciler', async () => {
      const { label, token } = await makeDemo(gateway);
      await createSet(gateway, token, label);
      gateway.cloud.admin.addFaults({ match: { method: 'DELETE' }, effect: { status: 503 } });

      const answer = await end(label, gateway.acme.token);

      gateway.cloud.admin.clearFaults();
      expect(answer.status).toBe(204);
      await untilRefused(gateway, token);
      expect(upstreamSets(gateway, label)).toEqual([`${label}/A`]);
      await expectRefusal(gateway, () => get(label, token), 401, 'unauthorized');
      const { rows } = await gateway.pool.query('SELECT clear_at > now() AS later FROM demo WHERE label = $1', [label]);
      expect(rows).toEqual([{ later: true }]);
    });
  });

  it('the audit entries of a demo have the ids of the requests, also for deleted records, and none for an expiry', async () => {
    const made = await gateway.call('POST', '/demos', { token: gateway.acme.token, body: { name: 'traced' } });
    const { token } = made.json;
    const written = await createSet(gateway, token, 'traced');
    const extended = await extend('traced', token, { ttl: 600 });
    const ended = await end('traced', gateway.acme.token);
    await makeDemo(gateway, { name: 'untraced' });
    await ageDemo(gateway, 'untraced', 8 * DAY_SECONDS);
    await demoEnds(gateway.prisma).endExpired(10);

    const { rows } = await gateway.pool.query(
      `SELECT operation, type, request_id FROM dns_audit_entry WHERE name IN ('traced', 'untraced') ORDER BY id`,
    );
    expect(rows.map((row) => [row.operation, row.type, row.request_id])).toEqual([
      ['create', 'DEMO', idOf(made)],
      ['create', 'A', idOf(written)],
      ['extend', 'DEMO', idOf(extended)],
      ['delete', 'DEMO', idOf(ended)],
      ['delete', 'A', idOf(ended)],
      ['create', 'DEMO', expect.any(String)],
      ['expire', 'DEMO', null],
    ]);
  });

  describe('the expiry of a demo', () => {
    it('takes effect immediately for reads, writes and the demo itself, without the reconciler', async () => {
      const { label, token } = await makeDemo(gateway, { ttl: 300 });
      expect((await createSet(gateway, token, label)).status).toBe(201);

      await ageDemo(gateway, label, 300);
      await untilRefused(gateway, token);

      const zonePath = `/zones/${DEMO_ZONE}/rrsets`;
      await expectRefusal(gateway, () => gateway.call('GET', zonePath, { token }), 401, 'unauthorized');
      await expectRefusal(gateway, () => createSet(gateway, token, `api.${label}`), 401, 'unauthorized');
      await expectRefusal(gateway, () => end(label, token), 401, 'unauthorized');
      await expectRefusal(gateway, () => get(label, gateway.acme.token), 404, 'not_found');
      expect((await list(gateway.acme.token)).text).not.toContain(label);
    });

    it('stops a write whose token was checked just before', async () => {
      const { label, token } = await makeDemo(gateway, { ttl: 300 });
      await createSet(gateway, token, label);
      // A lock on the demo's row delays the write after its token check.
      const holder = await gateway.pool.connect();
      await holder.query('BEGIN');
      await holder.query('SELECT FROM demo WHERE label = $1 FOR NO KEY UPDATE', [label]);

      const write = createSet(gateway, token, `late.${label}`);
      await waitFor('the write to be blocked', async () => {
        const blocked = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return (await gateway.pool.query(`SELECT ${blocked}`)).rowCount !== 0;
      });
      await holder.query(
        `UPDATE demo SET created_at = created_at - interval '1 day', expires_at = clock_timestamp() WHERE label = $1`,
        [label],
      );
      await holder.query('COMMIT');
      holder.release();

      expect((await write).status).toBe(401);
      expect(upstreamSets(gateway, label)).toEqual([`${label}/A`]);
    });
  });
});

describe('the confinement of demos', () => {
  /*
   * Three owners of names: two demos and a team that has the label of one of them. Each has a set that all of them request, through
   * every endpoint and in every zone. No owner may read or write outside its own names.
   */

  const records = [{ value: '192.0.2.9' }];
  let gateway: TestGateway;
  let own: TestDemo;
  let other: TestDemo;
  let teamToken: string;

  beforeAll(async () => {
    gateway = await startGateway();
    own = await makeDemo(gateway, { name: 'acme' });
    other = await makeDemo(gateway, { name: 'other' }, gateway.globex.token);
    teamToken = gateway.acme.token;
    for (const { token, label } of [own, other]) await createSet(gateway, token, `www.${label}`);
    const body = { name: 'www.acme', type: 'A', records: [{ value: '198.51.100.1' }] };
    expect((await gateway.call('POST', `/zones/${ZONE}/rrsets`, { token: teamToken, body })).status).toBe(201);
  });
  afterAll(() => gateway.close());

  /** The contents of both zones as text, to detect changes. */
  const upstream = (): string => JSON.stringify(gateway.cloud.admin.zones().map(({ name, rrsets }) => [name, rrsets]));

  const label = fc.constantFrom('acme', 'other', 'globex', 'xacme', 'acme-x', '@', '*', '');
  const name = fc.oneof(
    label,
    fc.tuple(fc.constantFrom('www', '*', '_acme-challenge', 'a.b', '-'), label).map((parts) => parts.join('.')),
    fc.tuple(label, fc.constantFrom(ZONE, DEMO_ZONE)).map((parts) => parts.join('.')),
  );
  const zone = () => fc.constantFrom(ZONE, DEMO_ZONE, String(gateway.zoneId), String(gateway.demoZoneId));
  /** The method, what follows the path of the record sets of the zone, and the body of each write of a set. */
  const writes: ((of: string) => [method: string, below: string, body?: object])[] = [
    (of) => ['POST', '', { name: of, type: 'A', records }],
    (of) => ['DELETE', `/${of}/A`],
    (of) => ['PUT', `/${of}/A`, { labels: { env: 'x' } }],
    ...['set_records', 'add_records', 'remove_records'].map((action) => (of: string): [string, string, object] => [
      'POST',
      `/${of}/A/actions/${action}`,
      { records: [{ value: '192.0.2.1' }, ...records] },
    ]),
    (of) => ['POST', `/${of}/A/actions/change_ttl`, { ttl: 60 }],
  ];

  const isOwn = (of: string, root: string): boolean => of === root || of.endsWith(`.${root}`);

  describe.each([
    ['a demo’s token', () => own.token, DEMO_ZONE, 'acme'],
    ['a team’s token', () => teamToken, ZONE, 'acme'],
  ])('%s', (_who, token, ownZone, root) => {
    it('never writes outside its own names in its own zone', async () => {
      await fc.assert(
        fc.asyncProperty(zone(), name, fc.constantFrom(...writes), async (asked, of, write) => {
          const isIts = isOwn(of, root) && (asked === ownZone || asked === ownZoneId(ownZone));
          fc.pre(!isIts);
          const before = upstream();
          const [method, below, body] = write(of);

          const answer = await gateway.call(method, `/zones/${asked}/rrsets${below}`, { token: token(), body });

          expect([403, 404, 405]).toContain(answer.status);
          expect(upstream()).toBe(before);
        }),
        { numRuns: 60 },
      );
    });

    it('never reads outside its own names in its own zone', async () => {
      await fc.assert(
        fc.asyncProperty(zone(), name, async (asked, of) => {
          const answer = await gateway.call('GET', `/zones/${asked}/rrsets/${of}/A`, { token: token() });

          if (answer.status === 200 && answer.json.rrset !== undefined) {
            expect(isOwn(answer.json.rrset.name, root)).toBe(true);
            expect(answer.json.rrset.zone).toBe(ownZone === ZONE ? gateway.zoneId : gateway.demoZoneId);
          } else if (of !== '') expectError(answer, 404, 'not_found');
        }),
        { numRuns: 60 },
      );
    });

    it('lists only its own zone, and its own sets in it', async () => {
      const zones = await gateway.call('GET', '/zones', { token: token() });
      const sets = await gateway.call('GET', `/zones/${ownZone}/rrsets`, { token: token() });

      expect(zones.json.zones.map((one: { name: string }) => one.name)).toEqual([ownZone]);
      expect(sets.json.rrsets.map((one: { name: string; zone: number }) => [one.name, one.zone])).toEqual([
        ['www.acme', ownZone === ZONE ? gateway.zoneId : gateway.demoZoneId],
      ]);
      const foreign = ownZone === ZONE ? DEMO_ZONE : ZONE;
      for (const path of [`/zones/${foreign}`, `/zones/${foreign}/rrsets`, `/zones/${ownZoneId(foreign)}`]) {
        expectError(await gateway.call('GET', path, { token: token() }), 404, 'not_found');
      }
      expect((await gateway.call('GET', `/zones?name=${foreign}`, { token: token() })).json.zones).toEqual([]);
    });
  });

  describe('the actions of writes', () => {
    const actionOf = async (token: string, inZone: string, of: string): Promise<number> => {
      const body = { ttl: 600 };
      const path = `/zones/${inZone}/rrsets/${of}/A/actions/change_ttl`;
      const answer = await gateway.call('POST', path, { token, body });
      expect(answer.status).toBe(201);
      return answer.json.action.id;
    };

    it('are visible to their owner only, not to its team or demos', async () => {
      const ofDemo = await actionOf(own.token, DEMO_ZONE, 'www.acme');
      const ofTeam = await actionOf(teamToken, ZONE, 'www.acme');
      const see = async (token: string): Promise<number[]> => {
        const { json } = await gateway.call('GET', `/actions?id=${ofDemo}&id=${ofTeam}`, { token });
        return json.actions.map((action: { id: number }) => action.id);
      };

      expect(await see(own.token)).toEqual([ofDemo]);
      expect(await see(teamToken)).toEqual([ofTeam]);
      expect(await see(other.token)).toEqual([]);
      const foreign: Answer = await gateway.call('GET', `/actions/${ofDemo}`, { token: teamToken });
      expectError(foreign, 404, 'not_found');
    });
  });

  function ownZoneId(of: string): string {
    return String(of === ZONE ? gateway.zoneId : gateway.demoZoneId);
  }
});
