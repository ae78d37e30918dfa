import { setTimeout as pause } from 'node:timers/promises';
import { describeNeeding, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildRelease, findPreviousRelease, thisRelease } from '../support/system/previous-release.js';
import { ZONE } from '../support/system/system-parts.js';
import { startPreviousRelease, type TwoReleases } from '../support/system/two-releases.js';

/*
 * An upgrade under load, as docs/releasing.md describes it: migrate, replace one replica after the other, take a part of it
 * back, and finish. Every answer has to be good, every write has to happen once, and reads have to show the last write.
 */

const DNS_CLIENTS = 4;
const CLUSTER_CLIENTS = 2;
const THINK_MS = 50;
/** Answers between two steps, so that each pair of releases serves together. */
const ANSWERS_PER_STEP = Number(process.env.CORRAL_RELEASE_ANSWERS ?? 60);
const VERSIONS = ['1.33', '1.34'] as const;
/** A new connection to Postgres may take 2 s, and more on a loaded machine. That says nothing about releases. */
const DATABASE_AWAY = /^503 .*The database is unavailable/;

const commit = findPreviousRelease();
const missing = { what: 'the commit of the previous release', how: 'git fetch --unshallow --tags' };

describeNeeding(describe, commit === null ? missing : null, 'two releases', () => {
  let previous: Awaited<ReturnType<typeof buildRelease>>;
  let running: TwoReleases;
  beforeAll(async () => {
    previous = await buildRelease(commit ?? '');
    running = await startPreviousRelease(previous);
  }, 900_000);
  afterAll(async () => {
    await running?.stop();
    previous?.remove();
  });

  it('serve the same load beside each other, on the new schema, and an upgrade can be taken back', async () => {
    const load = startLoad(running);
    await load.untilFurtherAnswers();
    await running.migrate();
    await load.untilFurtherAnswers();
    const [ones, others] = [running.replicas.slice(0, 3), running.replicas.slice(3)];
    for (const [replicas, release] of [
      [ones, thisRelease],
      [others, thisRelease],
      [ones, previous],
      [ones, thisRelease],
    ] as const) {
      for (const replica of replicas) await replica.replaceBy(release);
      await load.untilFurtherAnswers();
    }
    const { failures, accepted, values } = await load.stop();

    expect(failures).toEqual([]);
    const writes = (await running.cloud.writes()).filter(({ zone }) => zone === ZONE);
    expect(writes).toHaveLength(accepted);
    const stated = await running.cloud.stated();
    for (const [name, value] of values) expect(stated.get(`${name}/A`)).toContain(value);
    expect(await running.cloud.namesIn(ZONE)).toHaveLength(values.size);
    await waitFor('all operations to end', async () => (await operations('?state=running')).length === 0);
    const ended = await operations('');
    expect(ended.filter(({ state }) => state === 'failed')).toEqual([]);
    const lives = await running.garden.lives();
    expect(lives).toHaveLength(CLUSTER_CLIENTS);
  }, 900_000);

  async function operations(query: string): Promise<{ state: string }[]> {
    const { base } = running.clusters;
    const answer = await fetch(`${base}/api/v1/teams/acme/operations/${query}`, {
      headers: { cookie: running.cookie },
    });
    return ((await answer.json()) as { items: { state: string }[] }).items;
  }
});

/** Clients that go on until they are stopped. Each one owns what it writes, so it knows what it has to read. */
function startLoad({ dns, clusters, dnsToken, cookie }: TwoReleases) {
  const failures: string[] = [];
  const values = new Map<string, string>();
  let accepted = 0;
  let answers = 0;
  let isStopping = false;
  const send = async (what: string, url: string, init: RequestInit): Promise<string | null> => {
    const outcome = await fetch(url, init).then(
      async (answer) => ({ isGood: answer.status < 300, text: `${answer.status} ${await answer.text()}` }),
      (error: Error) => ({
        isGood: false,
        text: `${error.message}: ${String((error.cause as Error | undefined)?.message)}`,
      }),
    );
    answers += 1;
    if (outcome.isGood) return outcome.text;
    if (!DATABASE_AWAY.test(outcome.text)) failures.push(`${what}: ${outcome.text}`);
    return null;
  };
  const rrsets = `${dns.base}/v1/zones/${ZONE}/rrsets`;
  const ofDns = (method: string, body?: unknown): RequestInit => ({
    method,
    headers: { authorization: `Bearer ${dnsToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const write = async (what: string, url: string, init: RequestInit): Promise<boolean> => {
    const isAccepted = (await send(what, url, init)) !== null;
    if (isAccepted) accepted += 1;
    return isAccepted;
  };
  const dnsClient = async (index: number): Promise<void> => {
    const name = `c${index}.acme`;
    const set = `${rrsets}/${name}/A`;
    await write('create', rrsets, ofDns('POST', { name, type: 'A', records: [{ value: '192.0.2.1' }] }));
    for (let turn = 1; !isStopping; turn += 1) {
      const value = `198.51.${turn % 250}.${(turn >> 3) % 250}`;
      if (await write('set', `${set}/actions/set_records`, ofDns('POST', { records: [{ value }] })))
        values.set(name, value);
      const read = await send('get', set, ofDns('GET'));
      if (read !== null && !read.includes(values.get(name) ?? '')) failures.push(`${name} is not ${value}: ${read}`);
      await send('list', `${rrsets}?per_page=50`, ofDns('GET'));
      if (turn % 4 === 0) {
        const passing = { name: `t${index}-${turn}.acme`, type: 'TXT', records: [{ value: '"passing"' }] };
        await write('create', rrsets, ofDns('POST', passing));
        await write('delete', `${rrsets}/${passing.name}/TXT`, ofDns('DELETE'));
      }
      await pause(THINK_MS);
    }
  };
  const teamUrl = `${clusters.base}/api/v1/teams/acme`;
  const clusterClient = async (index: number): Promise<void> => {
    const headers = { cookie, 'content-type': 'application/json' };
    for (let turn = 0; !isStopping; turn += 1) {
      // Versions of Kubernetes only go up.
      const kubernetesVersion = VERSIONS[Math.min(turn >> 4, 1)];
      const pool = { name: 'general', machineType: 'cx22', minimum: 1, maximum: 1 + (turn % 3) };
      const spec = { connectionRef: 'main', region: 'hel1', kubernetesVersion, nodePools: [pool] };
      await send('put', `${teamUrl}/clusters/c${index}/`, { method: 'PUT', headers, body: JSON.stringify({ spec }) });
      for (const path of [`clusters/c${index}/`, 'clusters/', 'operations/', 'audit/', 'dns-usage/', 'catalogue/']) {
        await send(path, `${teamUrl}/${path}`, { headers });
      }
      await pause(THINK_MS);
    }
  };
  const clients = [
    ...Array.from({ length: DNS_CLIENTS }, (_, index) => dnsClient(index)),
    ...Array.from({ length: CLUSTER_CLIENTS }, (_, index) => clusterClient(index)),
  ];
  return {
    async untilFurtherAnswers(): Promise<void> {
      const goal = answers + ANSWERS_PER_STEP;
      await waitFor(`${goal} answers`, () => answers >= goal);
    },
    async stop() {
      isStopping = true;
      await Promise.all(clients);
      return { failures, accepted, values };
    },
  };
}
