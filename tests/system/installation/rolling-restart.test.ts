import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { signIn } from '../../support/clusters/client.js';
import { type ClusterSystem, startClusterSystem } from '../../support/clusters/start-cluster-system.js';
import type { Program } from '../../support/system/program.js';
import { type RoundRobin, startRoundRobin } from '../../support/system/round-robin.js';
import { ZONE } from '../../support/system/system-parts.js';

/** The least per service. A round of restarts takes longer, also on a slow machine, which then needs no second round. */
const REQUESTS = Number(process.env.CORRAL_ROLLING_REQUESTS ?? 200);
/** Fewer than the Postgres connections of a service, so that no client waits for another. */
const CLIENTS = 6;
/** The pause between two requests of a client: some are always in flight, and the machine has time for the restarts. */
const THINK_MS = 50;
/** One in this many requests of a client is a write. */
const WRITE_EVERY = 4;
const CHECK_EVERY_MS = 200;
/** A new connection to Postgres may take 2 s, and more on a loaded machine. That says nothing about restarts. */
const DATABASE_AWAY = /^503 .*The database is unavailable/;
const DRAIN_DELAY_MS = '5s';

let system: ClusterSystem;
beforeAll(async () => {
  system = await startClusterSystem({
    apis: 2,
    gateways: 2,
    apiEnv: { DRAIN_DELAY_MS },
    gatewayEnv: () => ({ DRAIN_DELAY_MS }),
  });
});
const proxies: RoundRobin[] = [];
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop();
});
afterAll(() => system?.stop());

type Replica = Program & { readonly base: string };
/** @param index the number of the client; @param turn the number of its request */
type Send = (base: string, index: number, turn: number) => Promise<Response>;

/** Restarts the replicas in turn, again and again, until all requests are answered. */
async function failuresWhileRestarting(replicas: readonly Replica[], send: Send): Promise<string[]> {
  const proxy = await startRoundRobin(
    replicas.map(({ base }) => base),
    { readyUrls: replicas.map(({ base }) => `${base}/readyz`), checkEveryMs: CHECK_EVERY_MS },
  );
  proxies.push(proxy);
  const failures: string[] = [];
  let left = REQUESTS;
  let rounds = 0;
  const client = async (index: number): Promise<void> => {
    // Also continue until every replica was restarted: the load must not end before the restarts.
    for (let turn = 0; left > 0 || rounds === 0; turn += 1) {
      left -= 1;
      const failure = await send(proxy.base, index, turn).then(
        async (answer) => (answer.status < 300 ? null : `${answer.status} ${await answer.text()}`),
        (error: Error) => `${error.message}: ${String((error.cause as Error | undefined)?.message)}`,
      );
      if (failure !== null && !DATABASE_AWAY.test(failure)) failures.push(failure);
      await pause(THINK_MS);
    }
  };
  const restarts = async (): Promise<void> => {
    while (left > 0 || rounds === 0) {
      for (const [index, replica] of replicas.entries()) await restart(proxy, replica, index);
      rounds += 1;
    }
  };
  await Promise.all([restarts(), ...Array.from({ length: CLIENTS }, (_, index) => client(index))]);
  return failures;
}

async function restart(proxy: RoundRobin, replica: Replica, index: number): Promise<void> {
  expect(await replica.stop()).toEqual({ code: 0, signal: null });
  await replica.start();
  await replica.untilReady();
  await waitFor('the proxy to find it ready', () => proxy.ready[index]);
}

const json = (body: unknown) => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

it('the DNS API loses no request during a rolling restart, and no write', async () => {
  const { member } = system.teams[0] as ClusterSystem['teams'][number];
  const made = await member.insist({ method: 'POST', path: '/dns-tokens/', body: { name: 'rolling restart' } });
  const authorization = `Bearer ${made.json.token}`;
  const rrsets = `/v1/zones/${ZONE}/rrsets`;
  for (let index = 0; index < CLIENTS; index += 1) {
    const { headers, body } = json({ name: `c${index}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] });
    const url = `${system.gateways[0]?.base}${rrsets}`;
    const created = await fetch(url, { method: 'POST', headers: { ...headers, authorization }, body });
    expect(created.status).toBe(201);
  }

  const failures = await failuresWhileRestarting(system.gateways, (at, index, turn) => {
    const url = `${at}${rrsets}/c${index}.acme/A`;
    if (turn % WRITE_EVERY !== 0) return fetch(url, { headers: { authorization } });
    const { headers, body } = json({ records: [{ value: `192.0.2.${turn % 250}` }] });
    return fetch(`${url}/actions/set_records`, { method: 'POST', headers: { ...headers, authorization }, body });
  });

  expect(failures).toEqual([]);
}, 600_000);

it('the cluster API loses no request during a rolling restart, and no write', async () => {
  const cookie = await signIn(system.apis[0]?.base as string, 'member@acme.test');
  const clusters = '/api/v1/teams/acme/clusters';

  const failures = await failuresWhileRestarting(system.apis, (at, index, turn) => {
    if (turn % WRITE_EVERY !== 0) return fetch(`${at}${clusters}/`, { headers: { cookie } });
    const versions = ['1.33', '1.34'];
    const { headers, body } = json({
      spec: { ...system.surroundings, kubernetesVersion: versions[(turn / WRITE_EVERY) % versions.length] },
    });
    return fetch(`${at}${clusters}/c${index}/`, { method: 'PUT', headers: { ...headers, cookie }, body });
  });

  expect(failures).toEqual([]);
}, 600_000);
