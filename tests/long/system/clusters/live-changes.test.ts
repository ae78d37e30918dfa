import type { TeamEvent } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { signIn } from '../../../support/clusters/client.js';
import { type Follower, followEvents } from '../../../support/clusters/follow-events.js';
import {
  type ClusterApi,
  type ClusterSystem,
  startClusterSystem,
} from '../../../support/clusters/start-cluster-system.js';
import { type Ends, undo } from '../../../support/system/system-parts.js';

const STREAMS = 1_000;
const MEGABYTE = 1_048_576;
const MEMORY_MAX = 300 * MEGABYTE;
const apiEnv = {
  LOG_LEVEL: 'info',
  // One session of one team opens all of them.
  EVENT_STREAMS_PER_PERSON: '1000',
  EVENT_STREAMS_PER_TEAM: '1000',
  EVENT_STREAMS_MAX: '4000',
};

type Change = Pick<TeamEvent, 'kind' | 'name'>;

const ends: Ends = [];
afterEach(() => undo(ends));

async function start(): Promise<{
  system: ClusterSystem;
  replicas: readonly [ClusterApi, ClusterApi];
  cookie: string;
}> {
  const system = await startClusterSystem({ apis: 2, reconcilers: 0, apiEnv });
  ends.push(system.stop);
  const [one, two] = system.apis as [ClusterApi, ClusterApi];
  return { system, replicas: [one, two], cookie: await signIn(one.base, 'member@acme.test') };
}

async function followMany(count: number, bases: readonly string[], cookie: string): Promise<Follower[]> {
  const followers: Follower[] = [];
  ends.push(async () => {
    for (const follower of followers) follower.stop();
  });
  while (followers.length < count) {
    followers.push(...Array.from({ length: 100 }, () => followEvents({ bases, team: 'acme', cookie })));
    await waitFor('streams to be open', () => followers.every((each) => each.isReady()));
  }
  return followers;
}

/** Declares clusters one after the other, each as a draft. */
async function declare({ teams: [team] }: ClusterSystem, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const spec = { connectionRef: 'main', region: 'hel1', kubernetesVersion: '1.33.7', nodePools: [] };
    const answer = await team?.member.insist({ method: 'PUT', path: `/clusters/${name}/`, body: { spec } });
    if (answer === undefined || answer.status > 202) throw new Error(`${name} was not declared: ${answer?.text}`);
  }
}

/** The events in Postgres, in the order in which they are sent. */
async function changesOf({ pool }: ClusterSystem): Promise<Change[]> {
  const { rows } = await pool.query('SELECT kind, target_name AS name FROM team_event ORDER BY xid, id');
  return rows;
}

/** A number that a replica reports about itself. */
async function metricOf(api: ClusterApi, name: string): Promise<number> {
  const line = api
    .output()
    .split('\n')
    .find((each) => each.includes('"message":"listening"')) as string;
  const text = await (await fetch(`${JSON.parse(line).metricsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(text)?.[1]);
}

/** Members and the connection existed before the first stream, but may be reported after it. */
const ofClusters = (changes: readonly Change[]) =>
  changes.filter(({ kind }) => ['Cluster', 'NodePool', 'Operation'].includes(kind));
const shown = (changes: readonly Change[]) => ofClusters(changes).map(({ kind, name }) => `${kind} ${name}`);

async function expectAll(followers: readonly Follower[], system: ClusterSystem): Promise<void> {
  const expected = shown(await changesOf(system));
  await waitFor(`${expected.length} changes to arrive everywhere`, () =>
    followers.every(({ changes }) => ofClusters(changes).length >= expected.length),
  );
  for (const { changes, surprises } of followers) {
    expect(surprises).toEqual([]);
    expect(shown(changes)).toEqual(expected);
  }
}

describe('1,000 open streams', () => {
  it('of one replica get every change, and the replica stays below 300 MB', async () => {
    const { system, replicas, cookie } = await start();
    const [one] = replicas;
    const followers = await followMany(STREAMS, [one.base], cookie);

    await declare(system, ['a', 'b', 'c', 'd', 'e']);
    await expectAll(followers, system);

    expect(await metricOf(one, 'corral_event_streams')).toBe(STREAMS);
    const memory = await metricOf(one, 'process_resident_memory_bytes');
    expect(memory).toBeGreaterThan(0);
    expect(memory).toBeLessThan(MEMORY_MAX);
  });
});

describe('a replica that is killed', () => {
  it('loses no change: clients continue at another one, with each change once and in order', async () => {
    const { system, replicas, cookie } = await start();
    const [one, two] = replicas;
    const followers = await followMany(100, [two.base, one.base], cookie);

    const declared = declare(
      system,
      Array.from({ length: 10 }, (_, at) => `c${at}`),
    );
    await waitFor('some changes', () => followers.every(({ changes }) => ofClusters(changes).length >= 4));
    await two.kill();
    await declared;
    // They may have had all changes before, and not have noticed the end yet.
    await waitFor('all to come back', () => followers.every((each) => each.streams() >= 2));

    await expectAll(followers, system);
    expect(await metricOf(one, 'corral_event_streams')).toBe(followers.length);
  });
});
