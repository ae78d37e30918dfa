import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { signIn } from '../../../support/clusters/client.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../../support/clusters/start-cluster-system.js';

const STREAMS = 1_000;
const MEMORY_MAX = 300 * 1_048_576;

let system: ClusterSystem;
beforeAll(async () => {
  system = await startClusterSystem({
    reconcilers: 0,
    // One session opens all streams.
    apiEnv: {
      LOG_LEVEL: 'info',
      EVENT_STREAMS_PER_PERSON: String(STREAMS),
      EVENT_STREAMS_PER_TEAM: String(STREAMS),
      EVENT_STREAMS_MAX: String(4 * STREAMS),
    },
  });
});
afterAll(() => system?.stop());

it('1,000 open streams of one replica get every change, and the replica stays below 300 MB', async () => {
  const [api, team] = [system.apis[0] as ClusterSystem['apis'][number], system.teams[0] as ClusterTeam];
  const headers = { cookie: await signIn(api.base, 'member@acme.test') };
  const over = new AbortController();
  const texts = Array.from({ length: STREAMS }, () => '');
  const follow = async (at: number) => {
    const { body } = await fetch(`${api.base}/api/v1/teams/acme/events/`, { headers, signal: over.signal });
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) texts[at] += text;
  };
  const streams: Promise<void>[] = [];
  // A replica refuses what it has no place for.
  while (streams.length < STREAMS) {
    streams.push(...Array.from({ length: 100 }, (_, at) => follow(streams.length + at).catch(() => undefined)));
    await waitFor('the streams to be ready', () =>
      texts.slice(0, streams.length).every((text) => text.includes('event: ready')),
    );
  }

  const names = ['a', 'b', 'c'];
  for (const name of names) {
    const spec = { ...system.surroundings, kubernetesVersion: '1.33.7', nodePools: [] };
    const { status } = await team.member.insist({ method: 'PUT', path: `/clusters/${name}/`, body: { spec } });
    expect(status).toBe(202);
  }

  const changed = (text: string) =>
    [...text.matchAll(/"kind":"Cluster","change":"\w+","name":"(\w+)"/g)].map(([, name]) => name);
  await waitFor('all changes to arrive', () => texts.every((text) => changed(text).includes('c')));
  for (const text of texts) expect([...new Set(changed(text))]).toEqual(names);

  const listening = api
    .output()
    .split('\n')
    .find((line) => line.includes('"message":"listening"')) as string;
  const metrics = await (await fetch(`${JSON.parse(listening).metricsUrl}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(metrics)?.[1]);
  over.abort();
  await Promise.all(streams);

  expect(metric('corral_event_streams')).toBe(STREAMS);
  expect(metric('process_resident_memory_bytes')).toBeLessThan(MEMORY_MAX);
}, 120_000);
