import { checkDnsAnswer } from '@corral/contracts';
import type { FaultEffect } from '@corral/local-cloud';
import { silentLog } from '@corral/service';
import { freePort, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { auditOf } from './support/audit.js';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

describe('outcomes', () => {
  let gateway: TestGateway;
  /** A gateway with a short call timeout, for calls that the upstream never answers. */
  let impatient: TestGateway;
  /** A gateway that waits neither for a call nor for an unavailable upstream. */
  let hasty: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    impatient = await startGateway({ beside: gateway, timeoutMs: 1_000 });
    hasty = await startGateway({ beside: gateway, timeoutMs: 1_000, config: { settleWithinMs: 100 } });
  });
  afterAll(async () => {
    await hasty.close();
    await impatient.close();
    await gateway.close();
  });
  afterEach(() => gateway.cloud.admin.clearFaults());

  const create = (name: string, through = gateway): Promise<Answer> =>
    through.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type: 'A', records: [{ value: '192.0.2.1' }] } });

  /** Sets the effect on the next creation upstream. */
  const spoil = (effect: FaultEffect): void => {
    gateway.cloud.admin.addFaults({ match: { method: 'POST', path: '/rrsets$' }, effect });
  };

  function expectUnavailable({ status, json }: Answer): void {
    checkDnsAnswer.error(json);
    expect(status).toBe(502);
    expect(json.error).toMatchObject({ code: 'upstream_unavailable', details: null });
  }

  describe('an upstream that gives one unreliable answer and then works again', () => {
    const error = { error: { code: 'unavailable', message: 'x', details: null } };
    const cases: [string, FaultEffect, 'happened' | 'did not happen'][] = [
      ['never answers', { hang: true }, 'did not happen'],
      ['drops the connection after it carried out the write', { reset: 'after' }, 'happened'],
      ['answers 201 without an action', { status: 201, perform: true, body: { rrset: {} } }, 'happened'],
      ['is overloaded (503)', { status: 503, perform: true, body: error }, 'happened'],
    ];

    it.each(cases)(
      '%s: the gateway reads the set, and the client gets the outcome of its write',
      async (what, effect, became) => {
        const name = `u${cases.findIndex(([each]) => each === what)}.acme`;
        spoil(effect);

        const answer = await create(name, effect.hang ? impatient : gateway);

        expect(answer.status).toBe(201);
        checkDnsAnswer.created(answer.json);
        expect(answer.json.rrset.records).toEqual([{ value: '192.0.2.1', comment: '' }]);
        const states = (await auditOf(gateway, name)).map(({ state }) => state);
        expect(states).toEqual(became === 'happened' ? ['settled'] : ['settled', 'completed']);
        expect(gateway.cloud.admin.writes().filter((write) => write.name === name)).toHaveLength(1);
        expect((await gateway.call('GET', `/zones/${ZONE}/rrsets/${name}/A`)).status).toBe(200);
        const action = await gateway.call('GET', `/actions/${answer.json.action.id}`);
        expect(action.status).toBe(200);
      },
    );

    it('refuses when the gateway repeats a write that did not happen: the client gets the refusal', async () => {
      await create('there.acme');
      spoil({ reset: 'before' });
      gateway.cloud.admin.putRrset(ZONE, 'there.acme', 'A', { records: [{ value: '192.0.2.99' }] });

      const answer = await create('there.acme');

      expect([answer.status, answer.json.error.code]).toEqual([409, 'uniqueness_error']);
    });
  });

  describe('an upstream that stays unavailable after a write was sent', () => {
    const isAway = (effect: FaultEffect): void => {
      gateway.cloud.admin.addFaults({ times: null, effect });
    };
    const posts = (): number =>
      Object.entries(gateway.cloud.admin.calls().byRoute)
        .filter(([route]) => route.startsWith('POST '))
        .reduce((sum, [, count]) => sum + count, 0);

    it.each<[string, FaultEffect]>([
      ['without an answer', { hang: true }],
      ['without an end of its answers', { reset: 'after' }],
      ['with its own errors', { status: 503, body: { error: { code: 'unavailable', message: 'words of it' } } }],
    ])(
      '%s: 502 with a time to wait, and the write is not repeated, stays pending and keeps its reservation',
      async (what, effect) => {
        const name = `away${what.length}.acme`;
        isAway(effect);
        const before = posts();

        const answer = await create(name, hasty);

        expectUnavailable(answer);
        expect(posts()).toBe(before + 1);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        expect(answer.text).not.toContain('words of it');
        expect(answer.json.error.message).toContain('Sending the same request again is safe');
        expect(await auditOf(gateway, name)).toEqual([
          expect.objectContaining({ state: 'pending', reserved_records: 1, answered: false }),
        ]);
      },
    );

    it('is available again later: the next gateway settles the write, and the same request gets its outcome', async () => {
      isAway({ reset: 'after' });
      expectUnavailable(await create('back.acme', hasty));
      gateway.cloud.admin.clearFaults();

      const again = await create('back.acme');

      expect(again.status).toBe(201);
      expect((await auditOf(gateway, 'back.acme')).map(({ state }) => state)).toEqual(['settled']);
      expect(gateway.cloud.admin.writes().filter(({ name }) => name === 'back.acme')).toHaveLength(1);
    });
  });

  it('an upstream that cannot be reached leads to 502, and to an entry that says that nothing was sent', async () => {
    const upstreamUrl = `http://127.0.0.1:${await freePort()}/v1`;
    const cutOff = await startGateway({ beside: gateway, upstreamUrl });

    expectUnavailable(await create('unreached.acme', cutOff));

    const [entry] = await auditOf(gateway, 'unreached.acme');
    expect(entry).toMatchObject({ state: 'unsent', reserved_records: 0 });
    expect((await create('unreached.acme')).status).toBe(201); // nothing blocks the next try
    await cutOff.close();
  });

  it('an upstream that refuses our own token leads to 502, as it is not the fault of the caller', async () => {
    spoil({ status: 403, code: 'token_readonly', message: 'your token' });

    const answer = await create('own.acme');

    expectUnavailable(answer);
    expect(answer.text).not.toContain('your token');
    expect(await auditOf(gateway, 'own.acme')).toMatchObject([{ state: 'unsent', reserved_records: 0 }]);
  });

  it('a refusal of the upstream arrives byte for byte, and the reservation is released', async () => {
    const [status, code, name] = [422, 'invalid_input', 'refused.acme'];
    const body = `{ "error": {"message":"d\u00fcplicate value '1' \\u00fc",\n "code": "${code}", "details": null, "n": 1.0} , "more":[ ]}`;
    spoil({ status, body });

    const answer = await create(name);

    expect(answer.status).toBe(status);
    expect(answer.text).toBe(body);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await auditOf(gateway, name)).toEqual([
      expect.objectContaining({
        state: 'refused',
        upstream_status: status,
        upstream_body: body,
        reserved_records: 0,
      }),
    ]);
  });

  describe('an upstream whose budget is used up', () => {
    it('is reported in the rate limit headers of the answer, with the time when this team will be served', async () => {
      const own = await startGateway();
      own.cloud.admin.setBudget({ requestsPerHour: 360, remaining: 1 });
      const write = (name: string) =>
        own.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type: 'A', records: [{ value: '192.0.2.1' }] } });
      const begunAt = Date.now() / 1_000;
      await write('one.acme');

      const refused = await write('two.acme');
      const endedAt = Date.now() / 1_000;

      const header = (name: string): number => Number(refused.headers.get(name));
      expect([refused.status, header('ratelimit-limit'), header('ratelimit-remaining')]).toEqual([429, 360, 0]);
      expect(refused.json.error.message).toContain('upstream');
      const { rows } = await own.pool.query(`SELECT state::text FROM dns_audit_entry WHERE name = 'two.acme'`);
      expect(rows).toEqual([{ state: 'unsent' }]);
      // One request flows in every ten seconds, and seven tenths of it are for writes.
      expect(header('retry-after')).toBeGreaterThanOrEqual(10 - (endedAt - begunAt));
      expect(header('retry-after')).toBeLessThanOrEqual(16);
      const countedFrom = header('ratelimit-reset') - header('retry-after');
      expect(countedFrom).toBeGreaterThanOrEqual(begunAt - 5);
      expect(countedFrom).toBeLessThanOrEqual(endedAt + 5);
      await own.close();
    });

    it('is reported in the answers to writes while it has less left than any limit of the gateway', async () => {
      const own = await startGateway();
      own.cloud.admin.setBudget({ requestsPerHour: 36_000, remaining: 20_000 });
      let writes = 0;

      // The budget account learns what the upstream states a moment later.
      await waitFor('the answers to report the budget of the upstream', async () => {
        const body = { name: `n${++writes}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] };
        const { headers } = await own.call('POST', `/zones/${ZONE}/rrsets`, { body });
        return headers.get('ratelimit-limit') === '36000' && Number(headers.get('ratelimit-remaining')) <= 36_000;
      });

      await own.close();
    });

    it('by one team does not keep other teams from writing: they have the next calls', async () => {
      const own = await startGateway({ waitMsMax: 5_000 });
      own.cloud.admin.setBudget({ requestsPerHour: 1_800, remaining: 20 });
      const write = (name: string, token: string) =>
        own.call('POST', `/zones/${ZONE}/rrsets`, {
          token,
          body: { name, type: 'A', records: [{ value: '192.0.2.1' }] },
        });
      const names = Array.from({ length: 60 }, (_, index) => `n${index}.acme`);
      const flood = await Promise.all(names.map((name) => write(name, own.acme.token)));

      const { status } = await write('one.globex', own.globex.token);

      expect(status).toBe(201);
      expect(new Set(flood.map((each) => each.status))).toEqual(new Set([201, 429]));
      const messages = flood.flatMap((each) => (each.status === 429 ? [each.json.error.message] : []));
      expect(new Set(messages)).toEqual(
        new Set([expect.stringMatching(/request budget of all teams together is used up/)]),
      );
      await own.close();
    });
  });
});

describe('changes by hand', () => {
  let gateway: TestGateway;
  const lines: { message: string; name?: unknown; kind?: unknown }[] = [];
  beforeAll(async () => {
    const log = { ...silentLog, warn: (message: string, fields?: object) => void lines.push({ message, ...fields }) };
    gateway = await startGateway({ actionMs: 0, log });
  });
  afterAll(() => gateway.close());

  let name: string;
  let sets = 0;
  const path = () => `/zones/${ZONE}/rrsets/${name}/A`;
  const create = (...values: string[]) =>
    gateway.call('POST', `/zones/${ZONE}/rrsets`, {
      body: { name, type: 'A', records: values.map((value) => ({ value })) },
    });
  const putByHand = (value: string, ttl: number | null = null) =>
    gateway.cloud.admin.putRrset(ZONE, name, 'A', { ttl, records: [{ value }] });
  const seen = async (): Promise<string[] | null> => {
    const { status, json } = await gateway.call('GET', path());
    return status === 404 ? null : json.rrset.records.map(({ value }: { value: string }) => value);
  };
  const drift = async () =>
    (
      await gateway.pool.query(
        `SELECT team_id, found_body IS NOT NULL AS present FROM dns_audit_entry
         WHERE name = $1 AND actor = 'upstream' AND operation = 'drift' AND state = 'observed' ORDER BY id`,
        [name],
      )
    ).rows;
  const isRecheckDue = async () =>
    (await gateway.pool.query('SELECT 1 FROM dns_audit_entry WHERE name = $1 AND recheck_at IS NOT NULL', [name]))
      .rowCount !== 0;
  const reported = (kind: string) => lines.filter((line) => line.name === name && line.kind === kind);

  beforeEach(() => {
    sets += 1;
    name = `hand${sets}.acme`;
    gateway.cloud.admin.clearFaults();
  });

  describe('a set that was changed by hand upstream', () => {
    it('is seen immediately when a create is refused because the set exists', async () => {
      putByHand('192.0.2.9');

      expect((await create('192.0.2.1')).status).toBe(409);

      expect(await seen()).toEqual(['192.0.2.9']);
      expect(await drift()).toEqual([{ team_id: gateway.acme.id, present: true }]);
      expect(reported('added')).toEqual([expect.objectContaining({ type: 'A', team: 'acme', message: 'drift' })]);
      expect(await isRecheckDue()).toBe(false);
    });

    it('is seen to be deleted immediately when a deletion finds nothing', async () => {
      putByHand('192.0.2.9');
      await gateway.syncZone();
      gateway.cloud.admin.deleteRrset(ZONE, name, 'A');

      expect((await gateway.call('DELETE', path())).status).toBe(404);

      expect(await seen()).toBeNull();
      expect((await drift()).at(-1)).toEqual({ team_id: gateway.acme.id, present: false });
      expect(reported('removed')).toHaveLength(1);
    });

    it('is logged as removed when a create makes it again', async () => {
      putByHand('192.0.2.9');
      await gateway.syncZone();
      gateway.cloud.admin.deleteRrset(ZONE, name, 'A');

      expect((await create('192.0.2.1')).status).toBe(201);

      expect((await drift()).at(-1)).toEqual({ team_id: gateway.acme.id, present: false });
      expect(reported('removed')).toHaveLength(1);
    });

    it('is seen immediately when an update of labels states other records', async () => {
      putByHand('192.0.2.9');
      await gateway.syncZone();
      putByHand('192.0.2.10');

      expect((await gateway.call('PUT', path(), { body: { labels: { team: 'x' } } })).status).toBe(200);

      expect(await seen()).toEqual(['192.0.2.10']);
      expect((await drift()).at(-1)).toEqual({ team_id: gateway.acme.id, present: true });
      expect(reported('changed')).toHaveLength(1);
    });

    it('is left to the reconciler when it cannot be read', async () => {
      putByHand('192.0.2.9');
      gateway.cloud.admin.addFaults({
        match: { method: 'GET', path: '/rrsets/' },
        times: null,
        effect: { status: 503 },
      });

      expect((await create('192.0.2.1')).status).toBe(409);

      expect(await isRecheckDue()).toBe(true);
      expect(await drift()).toEqual([]);
    });
  });
});
