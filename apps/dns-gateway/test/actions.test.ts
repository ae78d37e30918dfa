import { memoryBuckets } from '@corral/admission';
import { checkDnsAnswer } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RateLimits } from '../src/http/limits.js';
import { steppedClock } from './support/clocks.js';
import { expectError } from './support/expect-refusal.js';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

describe('reads of actions', () => {
  let gateway: TestGateway;
  let made = 0;
  beforeAll(async () => {
    gateway = await startGateway({ actionMs: 150 });
  });
  afterAll(() => gateway.close());
  afterEach(() => gateway.cloud.admin.clearFaults());

  const get = (path: string, token?: string) => gateway.call('GET', path, token === undefined ? {} : { token });

  /** Starts a write. @returns the id of its running action */
  async function start(name = `set-${++made}.acme`, token = gateway.acme.token): Promise<number> {
    const body = { name, type: 'A', records: [{ value: '192.0.2.1' }] };
    const { json } = await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body, token });
    expect(json.action.status).toBe('running');
    return json.action.id as number;
  }
  const ended = (id: number, path = '/actions', token?: string) =>
    waitFor(`the end of action ${id}`, async () => {
      const { json } = await get(`${path}/${id}`, token);
      return json.action.status !== 'running' && json.action;
    });

  describe.each(['/actions', '/zones/actions', `/zones/${ZONE}/actions`])('GET %s/{id}', (path) => {
    it('follows a write from running to success', async () => {
      const id = await start();
      const first = await get(`${path}/${id}`);
      checkDnsAnswer.action(first.json);

      const action = await ended(id, path);

      expect(action).toMatchObject({ id, command: 'create_rrset', status: 'success', progress: 100, error: null });
      expect(action.resources).toEqual([{ id: gateway.zoneId, type: 'zone' }]);
    });

    it('reports the action of another team as absent', async () => {
      const foreign = await start(`foreign-${++made}.globex`, gateway.globex.token);
      const absent = await get(`${path}/4000000000`);

      const answer = await get(`${path}/${foreign}`);

      expectError(answer, 404, 'not_found');
      expect(answer.text).toBe(absent.text);
    });
  });

  it('a failed action is reported with its error, and has its record set read again immediately', async () => {
    const name = `set-${++made}.acme`;
    await ended(await start(name));
    const actionError = { code: 'action_failed', message: 'publication failed' };
    gateway.cloud.admin.addFaults({ effect: { actionError } });
    const removed = await gateway.call('DELETE', `/zones/${ZONE}/rrsets/${name}/A`);
    expect((await get(`/zones/${ZONE}/rrsets/${name}/A`)).status).toBe(404);

    expect(await ended(removed.json.action.id)).toMatchObject({ status: 'error', error: actionError });

    await waitFor('the set', async () => (await get(`/zones/${ZONE}/rrsets/${name}/A`)).status === 200);
  });

  it('GET /zones/{zone}/actions/{id} takes the zone by its ID, too, and does not know another one', async () => {
    const id = await start();

    expect((await get(`/zones/${gateway.zoneId}/actions/${id}`)).json.action.id).toBe(id);
    for (const zone of ['other.test', String(gateway.demoZoneId)]) {
      expectError(await get(`/zones/${zone}/actions/${id}`), 404, 'not_found');
    }
  });

  it('GET /actions?id= returns exactly the requested ids without meta, ignoring page and sort, foreign and unknown ids', async () => {
    const ids = [await start(), await start(), await start()];
    const foreign = await start(`f${++made}.globex`, gateway.globex.token);
    const asked = `id=${foreign}&id=${ids[0]}&id=4000000000&id=${ids[2]}&page=1&per_page=1&sort=status&sort=id`;

    const { status, json } = await get(`/actions?${asked}`);

    expect(status).toBe(200);
    checkDnsAnswer.actionList(json);
    expect(Object.keys(json)).toEqual(['actions']);
    expect(json.actions.map((action: { id: number }) => action.id)).toEqual([ids[0], ids[2]]);
  });

  it('a restricted token sees only the actions of covered sets, and others as absent', async () => {
    const { token } = await gateway.issueToken(gateway.acme, { withinName: 'ci.acme', withinTypes: ['AAAA'] });
    const create = async (name: string, type: string, value: string): Promise<number> => {
      const body = { name, type, records: [{ value }] };
      return (await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body })).json.action.id;
    };
    const own = await create('below.ci.acme', 'AAAA', '2001:db8::1');
    const others = [await create('below.ci.acme', 'A', '192.0.2.1'), await create('xci.acme', 'AAAA', '2001:db8::1')];

    for (const path of ['/actions', '/zones/actions']) {
      const listed = await get(`${path}?${[own, ...others].map((id) => `id=${id}`).join('&')}`, token);
      expect(listed.json.actions.map((action: { id: number }) => action.id)).toEqual([own]);
      expect((await get(`${path}/${own}`, token)).status).toBe(200);
      const absent = await get(`${path}/4000000000`, token);
      for (const id of others)
        expect(await get(`${path}/${id}`, token)).toMatchObject({ status: 404, text: absent.text });
    }
  });

  it('a finished action is served without an upstream call', async () => {
    const id = await start();
    await ended(id);
    gateway.cloud.admin.addFaults({ times: null, effect: { reset: 'before' } });
    const before = gateway.upstreamCalls();

    const [one, list] = [await get(`/actions/${id}`), await get(`/zones/actions?id=${id}`)];

    expect([one.json.action.status, list.json.actions[0].status]).toEqual(['success', 'success']);
    expect(gateway.upstreamCalls()).toBe(before);
  });

  describe('a running action', () => {
    it('causes one upstream call per poll interval for all waiting clients together', async () => {
      const ids = [await start(), await start(), await start()];
      const before = gateway.upstreamCalls();
      const startedAt = Date.now();

      await Promise.all(ids.flatMap((id) => Array.from({ length: 10 }, () => ended(id))));

      const intervals = Math.ceil((Date.now() - startedAt) / 50) + 1;
      expect(gateway.upstreamCalls() - before).toBeLessThanOrEqual(intervals);
    });

    it('is reported as running while the upstream is unavailable', async () => {
      const id = await start();
      gateway.cloud.admin.addFaults({ match: { method: 'GET' }, times: null, effect: { status: 500, body: 'oops' } });

      const { status, json } = await get(`/actions/${id}`);

      expect([status, json.action.status]).toEqual([200, 'running']);
    });
  });

  describe('GET /zones/actions without ids', () => {
    const path = '/zones/actions';
    const idsOf = ({ json }: { json: { actions: { id: number }[] } }) => json.actions.map(({ id }) => id);

    it('lists only the team’s actions, page by page', async () => {
      const team = await gateway.createTeam(`lister-${++made}`);
      const ids: number[] = [];
      for (let at = 0; at < 5; at += 1) {
        ids.push(await start(`n${at}.${team.slug}`, team.token));
        await start(`other-${++made}.globex`, gateway.globex.token);
      }

      const first = await get(`${path}?per_page=2`, team.token);
      const last = await get(`${path}?per_page=2&page=3`, team.token);

      checkDnsAnswer.actionPage(first.json);
      expect([idsOf(first), idsOf(last)]).toEqual([ids.slice(0, 2), ids.slice(4)]);
      expect(first.json.meta.pagination).toEqual({
        page: 1,
        per_page: 2,
        previous_page: null,
        next_page: 2,
        last_page: 3,
        total_entries: 5,
      });
      expect(idsOf(await get(`${path}?sort=id:desc`, team.token))).toEqual(ids.toReversed());
      expect(idsOf(await get(`${path}?sort=command&sort=started:desc`, team.token))).toEqual(ids.toReversed());
    });

    it('makes no upstream call, and filters by status', async () => {
      const team = await gateway.createTeam(`stands-${++made}`);
      const done = await start(`done.${team.slug}`, team.token);
      await ended(done, '/actions', team.token);
      const before = gateway.upstreamCalls();

      expect(idsOf(await get(`${path}?status=success&status=error`, team.token))).toEqual([done]);
      expect(idsOf(await get(`${path}?status=running`, team.token))).toEqual([]);
      expect(gateway.upstreamCalls()).toBe(before);
    });

    it('shows a restricted token only the actions that it covers', async () => {
      const team = await gateway.createTeam(`narrow-${++made}`);
      const within = await start(`a.in.${team.slug}`, team.token);
      await start(`b.${team.slug}`, team.token);
      const { token } = await gateway.issueToken(team, { withinName: `in.${team.slug}` });
      const typed = await gateway.issueToken(team, { withinTypes: ['TXT'] });

      expect(idsOf(await get(path, token))).toEqual([within]);
      expect(idsOf(await get(path, typed.token))).toEqual([]);
    });
  });
});

describe('held reads', () => {
  /** Long enough that an action ends only when a test advances the clock of the local cloud. */
  const ACTION_MS = 3_600_000;
  const HOLD_MS = 3_000;

  let base: TestGateway;
  let gateway: TestGateway;
  let clock: ReturnType<typeof steppedClock>;
  let names = 0;
  beforeAll(async () => {
    base = await startGateway({ actionMs: ACTION_MS });
  });
  afterEach(() => gateway.close());
  afterAll(() => base.close());

  async function start(limits: Partial<RateLimits> = {}): Promise<void> {
    clock = steppedClock();
    const config = { limits, actionHoldMs: HOLD_MS };
    gateway = await startGateway({ beside: base, buckets: memoryBuckets(clock.now), clock, config });
  }

  /** Uses another gateway, so that no limits of this one are spent. */
  async function startAction(): Promise<number> {
    const body = { name: `held${++names}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] };
    return (await base.call('POST', `/zones/${ZONE}/rrsets`, { body })).json.action.id;
  }
  const endActions = (): unknown => gateway.cloud.admin.advanceClock(ACTION_MS);
  const get = (id: number, token?: string | null): Promise<Answer> =>
    gateway.call('GET', `/actions/${id}`, token === undefined ? {} : { token });
  const statusOf = ({ status, json }: Answer) => [status, json.action?.status ?? json.actions?.[0]?.status];
  const untilHeld = (count = 1) => waitFor('reads to be held', () => clock.timers() === count);

  describe('a read of a running action', () => {
    it('waits for its end', async () => {
      await start();
      const id = await startAction();
      const held = gateway.call('GET', `/zones/actions?id=${id}`);
      await untilHeld();

      endActions();

      expect(statusOf(await held)).toEqual([200, 'success']);
      expect(clock.timers()).toBe(0);
    });

    it('is answered with the last known state while the upstream is unavailable', async () => {
      await start();
      const id = await startAction();
      gateway.cloud.admin.addFaults({ match: { path: '/actions' }, times: null, effect: { status: 503 } });

      expect(statusOf(await get(id))).toEqual([200, 'running']);
      gateway.cloud.admin.clearFaults();
    });

    it('that never ends upstream fails after a while, and stays failed', async () => {
      await start();
      const id = await startAction();
      const past = "now() - interval '2 minutes'";
      await base.pool.query(`UPDATE dns_action SET started_at = ${past}, checked_at = ${past} WHERE id = $1`, [id]);
      const read = async () => (await base.call('GET', `/actions/${id}`)).json.action;

      const failed = await read();

      expect(failed).toMatchObject({ id, command: 'create_rrset', status: 'error', error: { code: 'timeout' } });
      expect(Date.parse(failed.finished as string)).toBeGreaterThan(0);
      const before = base.upstreamCalls();
      expect(await read()).toEqual(failed);
      expect(base.upstreamCalls()).toBe(before);
    });

    it('is held for at most three seconds', async () => {
      await start();
      const id = await startAction();
      const held = get(id);
      await untilHeld();

      clock.pass(HOLD_MS);

      expect(statusOf(await held)).toEqual([200, 'running']);
    });

    it('ends when its client disconnects', async () => {
      await start();
      const id = await startAction();
      const gone = new AbortController();
      const headers = { Authorization: `Bearer ${gateway.acme.token}` };
      const held = fetch(`${gateway.url}/actions/${id}`, { headers, signal: gone.signal });
      held.catch(() => undefined);
      await untilHeld();

      gone.abort();

      await waitFor('it to be released', () => clock.timers() === 0);
    });

    it('is answered immediately when the gateway drains', async () => {
      await start();
      const id = await startAction();
      const held = [get(id), get(id)];
      await untilHeld(2);

      gateway.drain();

      expect((await Promise.all(held)).map(statusOf)).toEqual([
        [200, 'running'],
        [200, 'running'],
      ]);
      expect(statusOf(await get(id))).toEqual([200, 'running']);
    });

    it('is answered immediately with the current state when 64 reads of the token are held', async () => {
      await start();
      const id = await startAction();
      const { token: other } = await gateway.issueToken(gateway.acme);
      const held = Array.from({ length: 64 }, () => get(id));
      await untilHeld(64);

      expect(statusOf(await get(id))).toEqual([200, 'running']);
      const ofOther = get(id, other);
      await untilHeld(65);
      clock.pass(HOLD_MS);

      expect(new Set((await Promise.all([...held, ofOther])).map(({ status }) => status))).toEqual(new Set([200]));
    });
  });

  describe('reads of actions', () => {
    it('do not count for the other requests of the token or the team', async () => {
      await start({ perTokenPerMinute: 2, perTeamPerMinute: 2 });
      const id = await startAction();
      endActions();
      await waitFor('the action to end', async () => (await get(id)).json.action.status === 'success');

      for (let time = 0; time < 10; time += 1) expect((await get(id)).status).toBe(200);

      const { status, headers } = await gateway.call('GET', '/zones');
      expect([status, headers.get('ratelimit-remaining')]).toEqual([200, '1']);
    });

    it('count for their token when they were not held, and for nobody else at its address', async () => {
      await start({ perAddressPerMinute: 1, perTokenPerMinute: 1, actionReadsPerTokenPerMinute: 3 });
      const id = await startAction();
      endActions();
      expect(statusOf(await get(id))).toEqual([200, 'success']); // held until the upstream answered

      const answers = [await get(id), await get(id), await get(id), await get(id)];

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
      expect(answers.map(({ headers }) => headers.get('ratelimit-remaining'))).toEqual(['2', '1', '0', '0']);
      expect(answers[3]?.json.error.message).toContain('for actions with this token');
      const { token: other } = await gateway.issueToken(gateway.acme);
      for (const each of [other, gateway.globex.token]) expect((await get(id, each)).status).not.toBe(429);
      expect((await get(id, 'wrong')).status).toBe(401);
    });

    it('may be as many as the other requests of a token whose limit an operator has raised', async () => {
      await start({ perTokenPerMinute: 1, actionReadsPerTokenPerMinute: 1 });
      const team = await gateway.createTeam('polling');
      await gateway.pool.query('UPDATE team SET dns_token_requests_max = 3 WHERE id = $1', [team.id]);

      const statuses: number[] = [];
      while (statuses.length < 4) statuses.push((await get(1, team.token)).status);

      expect(statuses).toEqual([404, 404, 404, 429]);
    });
  });
});
