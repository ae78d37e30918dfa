import { once } from 'node:events';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { auditOf } from '../support/audit.js';
import { sendRaw } from '../support/raw-client.js';
import { type Answer, startGateway, type TestGateway, ZONE } from '../support/start-gateway.js';

describe('repeated writes', () => {
  let gateway: TestGateway;
  let replica: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    replica = await startGateway({ beside: gateway });
  });
  afterAll(async () => {
    await replica.close();
    await gateway.close();
  });
  beforeEach(() => gateway.cloud.admin.resetCalls());
  afterEach(() => gateway.cloud.admin.clearFaults());

  const pathOf = (name: string): string => `/zones/${ZONE}/rrsets/${name}/A/actions/add_records`;
  const body = { records: [{ value: '192.0.2.1' }] };
  const add = (name: string, through = gateway, token = gateway.acme.token): Promise<Answer> =>
    through.call('POST', pathOf(name), { token, body });

  const slowUpstream = (name: string, delayMs: number): void => {
    gateway.cloud.admin.addFaults({ match: { path: name }, effect: { delayMs } });
  };
  const upstreamIsCalled = () => waitFor('the call upstream', () => gateway.upstreamCalls() === 1);
  const writesTo = (name: string) => gateway.cloud.admin.writes().filter((write) => write.name === name);

  /** Sends a write as a client that disconnects while the upstream works on it. */
  async function sendAndLeave(name: string): Promise<void> {
    slowUpstream(name, 150);
    const socket = await sendRaw(gateway.url, { token: gateway.acme.token, path: pathOf(name), body });
    await upstreamIsCalled();
    socket.destroy();
    await once(socket, 'close');
  }

  const completed = (name: string) =>
    waitFor('the write to be completed', async () => (await auditOf(gateway, name))[0]?.state === 'completed');

  const delivered = (name: string) =>
    waitFor('the delivery to be recorded', async () => (await auditOf(gateway, name))[0]?.answered);

  describe('a client that leaves before the answer and sends its write again', () => {
    it.each([
      ['to the same gateway', () => gateway],
      ['to another one', () => replica],
    ])(
      '%s while the upstream works: it gets the first outcome, and the upstream gets one write',
      async (what, through) => {
        const name = `${what.length}.during.acme`;
        await sendAndLeave(name);

        const again = await add(name, through());

        expect(again.status).toBe(201);
        expect(again.json.action.id).toBe(writesTo(name)[0]?.actionId);
        expect(gateway.upstreamCalls()).toBe(1);
        expect(await auditOf(gateway, name)).toHaveLength(1);
      },
    );

    it.each([
      ['to the same gateway', () => gateway],
      ['to another one', () => replica],
    ])('%s afterwards: it gets the first outcome, and once that is delivered a new one', async (what, through) => {
      const name = `${what.length}.after.acme`;
      await sendAndLeave(name);
      await completed(name);
      expect((await auditOf(gateway, name))[0]?.answered).toBe(false);

      const again = await add(name, through());

      expect([again.status, again.json.action.id]).toEqual([201, writesTo(name)[0]?.actionId]);
      expect(gateway.upstreamCalls()).toBe(1);
      await delivered(name);
      const fresh = await add(name, through());
      expect([fresh.status, fresh.json.error.code]).toEqual([422, 'invalid_input']); // the upstream's "duplicate value"
      expect(gateway.upstreamCalls()).toBe(2);
    });

    it('does not make the answer count as delivered', async () => {
      await sendAndLeave('gone.acme');
      await completed('gone.acme');
      await add('witness.acme'); // deliveries are recorded in batches: once this one is recorded, the other one would be, too
      await delivered('witness.acme');

      expect((await auditOf(gateway, 'gone.acme'))[0]?.answered).toBe(false);
    });
  });

  it.each([
    ['to the same gateway concurrently', () => gateway, async () => undefined],
    ['to another one once it knows of the delivery', () => replica, delivered],
  ])(
    'a client that got its answer and sends the same write again %s: it is a separate write, and the upstream decides on it',
    async (what, through, known) => {
      const name = `${what.length}.twice.acme`;
      expect((await add(name)).status).toBe(201);
      await known(name);

      const second = await add(name, through());

      expect([second.status, second.json.error.code]).toEqual([422, 'invalid_input']);
      expect((await auditOf(gateway, name)).map(({ state }) => state)).toEqual(['completed', 'refused']);
    },
  );

  describe('identical writes at the same time', () => {
    it('share one upstream call and its answer', async () => {
      slowUpstream('shared.acme', 100);

      const answers = await Promise.all(Array.from({ length: 8 }, () => add('shared.acme')));

      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers[0]?.status).toBe(201);
      expect(gateway.upstreamCalls()).toBe(1);
      expect(await auditOf(gateway, 'shared.acme')).toHaveLength(1);
    });

    it('share them through two gateways, too', async () => {
      slowUpstream('both.acme', 150);

      const first = add('both.acme');
      await upstreamIsCalled();
      const second = add('both.acme', replica);

      expect((await second).text).toBe((await first).text);
      expect(gateway.upstreamCalls()).toBe(1);
    });
  });
});
