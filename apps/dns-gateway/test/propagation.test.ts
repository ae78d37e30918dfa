import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import { silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createSet, makeDemo } from './support/demos.js';
import { type GatewayOptions, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

/** The name server of the local cloud has changes so much later: when a test advances the clock of the cloud. */
const LATE_MS = 3_600_000;

describe('an action of a write, where the gateway knows the name servers', () => {
  let base: TestGateway;
  let gateway: TestGateway;
  let silent: Awaited<ReturnType<typeof startSilentServer>>;
  let names = 0;
  beforeAll(async () => {
    base = await startGateway({ actionMs: 0 });
  });
  beforeEach(async () => {
    base.cloud.admin.serveDnsLater(LATE_MS);
    silent = await startSilentServer();
  });
  afterEach(async () => {
    await gateway.close();
    silent.close();
  });
  afterAll(() => base.close());

  async function start(options: GatewayOptions = {}): Promise<TestGateway> {
    gateway = await startGateway({ beside: base, nameServers: (ofCloud) => [ofCloud], ...options });
    return gateway;
  }
  const catchUp = (): unknown => base.cloud.admin.advanceClock(LATE_MS);
  const nextName = (): string => `set-${++names}.acme`;
  const create = async (name: string, type = 'A', ...values: string[]) => {
    const records = (values.length === 0 ? ['192.0.2.1'] : values).map((value) => ({ value }));
    return (await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type, records } })).json.action;
  };
  const write = async (path: string, body: object | undefined, method = 'POST') =>
    (await gateway.call(method, `/zones/${ZONE}/rrsets/${path}`, { body })).json.action;
  /** The upstream has ended the action, so that only name servers are waited for. */
  const endUpstream = (...ids: number[]) =>
    waitFor('the end at the upstream', async () => {
      await gateway.call('GET', `/actions?${ids.map((id) => `id=${id}`).join('&')}`);
      return (await gateway.prisma.dnsAction.count({ where: { id: { in: ids }, status: 'running' } })) === 0;
    });
  const get = async (id: number, from = gateway) => (await from.call('GET', `/actions/${id}`)).json.action;
  const ended = (id: number) =>
    waitFor(`the end of action ${id}`, async () => {
      const action = await get(id);
      return action.status !== 'running' && action;
    });

  it('runs until all of them answer it, without one more upstream call', async () => {
    await start({ nameServers: (ofCloud) => [ofCloud, ofCloud] });
    const { id } = await create(nextName());
    await endUpstream(id);
    const before = base.upstreamCalls();

    expect(await get(id)).toMatchObject({ id, status: 'running', progress: 50, finished: null, error: null });
    catchUp();

    expect(await ended(id)).toMatchObject({ status: 'success', progress: 100, finished: expect.any(String) });
    expect(base.upstreamCalls()).toBe(before);
  });

  it('runs from the answer to the write on, although the upstream has ended it', async () => {
    await start();
    base.cloud.admin.addFaults({ match: { method: 'POST' }, effect: { reset: 'after' } });

    const { id, ...answered } = await create(nextName());

    expect(answered).toMatchObject({ status: 'running', progress: 50, finished: null });
    expect(await get(id)).toMatchObject({ id, ...answered });
    catchUp();
    expect(await ended(id)).toMatchObject({ status: 'success' });
  });

  it('says in its progress how many of them answer it', async () => {
    await start({ nameServers: (ofCloud) => [ofCloud, silent.server], config: { actionHoldMs: 4_000 } });
    base.cloud.admin.serveDnsLater(0);
    const { id } = await create(nextName());
    await endUpstream(id);

    expect(await get(id)).toMatchObject({ status: 'running', progress: 75 });
  });

  it('ends for good, in all gateways', async () => {
    await start();
    const name = nextName();
    const { id } = await create(name);
    catchUp();
    await ended(id);
    base.cloud.admin.deleteRrset(ZONE, name, 'A');
    catchUp();
    const other = await startGateway({ beside: base, nameServers: () => [silent.server] });

    expect([await get(id), await get(id, other)]).toMatchObject([{ status: 'success' }, { status: 'success' }]);
    await other.close();
  });

  it('goes on in another gateway when its own is gone', async () => {
    await start();
    const { id } = await create(nextName());
    await gateway.close();
    await start();

    expect(await get(id)).toMatchObject({ status: 'running', finished: null });
    catchUp();
    expect(await ended(id)).toMatchObject({ status: 'success' });
  });

  it('is in lists as what it is', async () => {
    const { token } = await base.createTeam(`lists-${++names}`);
    await start();
    const of = async (status: string): Promise<[number, string][]> => {
      const { json } = await gateway.call('GET', `/zones/actions?status=${status}`, { token });
      return json.actions.map((each: { id: number; status: string }) => [each.id, each.status]);
    };
    const body = { name: `lists-${names}`, type: 'A', records: [{ value: '192.0.2.1' }] };
    const { id } = (await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body, token })).json.action;

    expect([await of('running'), await of('success')]).toEqual([[[id, 'running']], []]);
    catchUp();
    await waitFor('its end', async () => {
      return (await gateway.call('GET', `/actions/${id}`, { token })).json.action.status === 'success';
    });
    expect([await of('running'), await of('success')]).toEqual([[], [[id, 'success']]]);
  });

  it('ends once values of all kinds are served, also at names with a wildcard', async () => {
    await start();
    const name = nextName();
    const long = 'x'.repeat(255);
    const made = [
      await create(`*.${name}`),
      await create(`v6.${name}`, 'AAAA', '2001:DB8::0:1'),
      await create(`alias.${name}`, 'CNAME', 'Target.example.net.'),
      await create(`text.${name}`, 'TXT', `"${long}" "${long}"`, String.raw`"\195\164 \"quoted\""`),
    ];
    for (const { id } of made) expect(await get(id)).toMatchObject({ status: 'running' });

    catchUp();

    for (const { id } of made) expect(await ended(id)).toMatchObject({ status: 'success' });
  });

  it.each([
    ['a deletion', 'DELETE', '', undefined],
    ['a removal of one of its values', 'POST', '/actions/remove_records', { records: [{ value: '192.0.2.1' }] }],
    ['other values', 'POST', '/actions/set_records', { records: [{ value: '192.0.2.9' }] }],
    ['another TTL', 'POST', '/actions/change_ttl', { ttl: 300 }],
  ])('waits for %s', async (_what, method, below, body) => {
    await start();
    const name = nextName();
    const first = await create(name, 'A', '192.0.2.1', '192.0.2.2');
    catchUp();
    await ended(first.id);

    const { id } = await write(`${name}/A${below}`, body, method);
    expect(await get(id)).toMatchObject({ status: 'running' });
    catchUp();

    expect(await ended(id)).toMatchObject({ status: 'success' });
  });

  it('ends when a later write has replaced it', async () => {
    await start({ nameServers: () => [silent.server, silent.server] });
    const name = nextName();
    const first = await create(name);
    await gateway.close();
    await start();
    const later = await write(`${name}/A/actions/set_records`, { records: [{ value: '192.0.2.7' }] });

    expect(await ended(first.id)).toMatchObject({ status: 'success' });
    expect(await get(later.id)).toMatchObject({ status: 'running' });
  });

  it('ends in success when a name server stays silent for too long, and the log says which', async () => {
    const logged: [string, unknown][] = [];
    const log = { ...silentLog, warn: (text: string, fields: unknown) => void logged.push([text, fields]) };
    const config = { actionHoldMs: 30_000 };
    await start({ nameServers: (ofCloud) => [ofCloud, silent.server], config, log } as GatewayOptions);
    base.cloud.admin.serveDnsLater(0);
    const name = nextName();
    const { id } = await create(name);
    await endUpstream(id);

    const read = get(id);
    await waitFor('a question', () => silent.questions() > 0);
    await gateway.prisma.dnsAction.update({ where: { id }, data: { startedAt: new Date(Date.now() - 90_000) } });

    expect(await read).toMatchObject({ status: 'success', progress: 100 });
    const missing = [`127.0.0.1 port ${silent.server.port}`];
    expect(logged).toEqual([
      ['name servers do not answer an accepted write', { action: id, name, type: 'A', missing }],
    ]);
  });

  it('does not wait in the zone of the demos', async () => {
    await start({ nameServers: () => [silent.server] });
    const { label, token } = await makeDemo(gateway);

    const { id } = (await createSet(gateway, token, label)).json.action;

    await waitFor('its end', async () => {
      return (await gateway.call('GET', `/actions/${id}`, { token })).json.action.status === 'success';
    });
    expect(silent.questions()).toBe(0);
  });

  it('lets a name server that does not answer hold a read no longer than any other, with few questions at once', async () => {
    await start({ nameServers: () => [silent.server], config: { actionHoldMs: 200 } });
    const ids: number[] = [];
    for (let at = 0; at < 20; at += 1) ids.push((await create(nextName())).id);
    await endUpstream(...ids);

    const read = await gateway.call('GET', `/actions?${ids.map((id) => `id=${id}`).join('&')}`);

    expect(read.json.actions.map(({ status }: { status: string }) => status)).toEqual(ids.map(() => 'running'));
    expect(silent.questions()).toBeGreaterThan(0);
    expect(silent.questions()).toBeLessThanOrEqual(4);
  });
});

/** Takes questions and never answers. */
async function startSilentServer() {
  let questions = 0;
  const socket = createSocket('udp4');
  socket.on('message', () => {
    questions += 1;
  });
  await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound));
  const { port } = socket.address() as AddressInfo;
  return { server: { host: '127.0.0.1', port }, questions: () => questions, close: () => socket.close() };
}
