import { checkDnsAnswer } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, startGateway, type TestGateway, ZONE } from '../support/start-gateway.js';

describe('the progress of actions', () => {
  const POLL_MS = 50;
  /** Long enough that an action ends only when a test advances the clock of the local cloud. */
  const ACTION_MS = 3_600_000;

  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ actionMs: ACTION_MS, waitMsMax: 30_000, config: { actionPollMs: POLL_MS } });
  });
  afterAll(() => gateway.close());
  afterEach(() => gateway.cloud.admin.clearFaults());

  let names = 0;

  async function startAction(through = gateway): Promise<number> {
    names += 1;
    const body = { name: `n${names}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] };
    const { status, json } = await through.call('POST', `/zones/${ZONE}/rrsets`, { body });
    expect(status).toBe(201);
    expect(json.action.status).toBe('running');
    return json.action.id;
  }

  const endActions = (): unknown => gateway.cloud.admin.advanceClock(ACTION_MS);
  const actionCalls = (): number => gateway.cloud.admin.calls().byRoute['GET /v1/actions'] ?? 0;
  const get = (id: number, token = gateway.acme.token): Promise<Answer> =>
    gateway.call('GET', `/actions/${id}`, { token });
  const statusOf = async (id: number): Promise<string> => (await get(id)).json.action.status;

  describe('waiting clients of several replicas', () => {
    it('cause at most one upstream call per interval together, and all see the end', async () => {
      const beside = { beside: gateway, config: { actionPollMs: POLL_MS } };
      const replicas = [gateway, await startGateway(beside), await startGateway(beside)];
      const ids = await Promise.all(Array.from({ length: 12 }, () => startAction()));
      const before = actionCalls();
      const startedAt = performance.now();
      const ended = async (id: number, at: TestGateway): Promise<boolean> =>
        (await at.call('GET', `/actions/${id}`)).json.action.status === 'success';

      const clients = Promise.all(
        ids.map((id, index) => {
          const at = replicas[index % replicas.length] as TestGateway;
          return waitFor(`action ${id} to succeed`, () => ended(id, at));
        }),
      );
      await waitFor('some calls to be made', () => actionCalls() - before >= 5);
      const calls = actionCalls() - before;
      const intervals = (performance.now() - startedAt) / POLL_MS;
      endActions();
      await clients;

      expect(calls).toBeLessThanOrEqual(Math.ceil(intervals) + 1);
      for (const replica of replicas.slice(1)) await replica.close();
    });

    it('are served after the polling replica dies', async () => {
      const id = await startAction();
      await gateway.pool.query(`UPDATE dns_action_poll SET next_at = clock_timestamp() + interval '500 ms'`);
      endActions();

      await waitFor('the action to succeed', async () => (await statusOf(id)) === 'success');
    });
  });

  describe('an action that never ends', () => {
    it('is reported as failed after the time limit, and its set is read again', async () => {
      const bounded = await startGateway({ beside: gateway, config: { actionPollMs: POLL_MS } });
      const id = await startAction(bounded);
      const status = async () => (await bounded.call('GET', `/actions/${id}`)).json.action.status;
      expect(await status()).toBe('running');
      await gateway.pool.query(`UPDATE dns_action SET started_at = now() - interval '2 minutes' WHERE id = $1`, [id]);

      await waitFor('the action to fail', async () => (await status()) === 'error');

      const { json } = await bounded.call('GET', `/actions/${id}`);
      checkDnsAnswer.action(json);
      expect(json.action).toMatchObject({ id, command: 'create_rrset', error: { code: 'timeout' } });
      expect(json.action.finished).not.toBeNull();
      const before = gateway.upstreamCalls();
      expect(await status()).toBe('error');
      expect(gateway.upstreamCalls()).toBe(before);
      const { rowCount } = await gateway.pool.query(
        `SELECT FROM dns_audit_entry JOIN dns_action ON audit_entry_id = dns_audit_entry.id
         WHERE dns_action.id = $1 AND recheck_at IS NOT NULL`,
        [id],
      );
      expect(rowCount).toBe(1);
      await bounded.close();
    });
  });

  describe('while the upstream is unavailable', () => {
    it('the last known state is reported, and the actual one afterwards', async () => {
      const id = await startAction();
      gateway.cloud.admin.addFaults({ match: { path: '/actions' }, times: null, effect: { reset: 'before' } });
      const hits = () => gateway.cloud.admin.faults()[0]?.hits ?? 0;
      endActions();

      await waitFor('a failed upstream call', async () => {
        const { status, json } = await get(id);
        expect([status, json.action.status]).toEqual([200, 'running']);
        return hits() > 0;
      });
      gateway.cloud.admin.clearFaults();

      await waitFor('the action to succeed', async () => (await statusOf(id)) === 'success');
    });
  });

  describe('after a poll that could not be recorded', () => {
    it('the next poll works again', async () => {
      const id = await startAction();
      await gateway.pool.query(`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON dns_action FOR EACH STATEMENT EXECUTE FUNCTION refuse()`);
      await waitFor('a poll to fail', async () => (await get(id)).status === 500);

      await gateway.pool.query('DROP TRIGGER refuse ON dns_action');
      endActions();

      await waitFor('the action to succeed', async () => (await statusOf(id)) === 'success');
    });
  });
});
