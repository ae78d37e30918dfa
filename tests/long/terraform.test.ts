import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding, freePort } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  builtInAddress,
  certifyUpstreamName,
  tlsOfUpstreamName,
  UPSTREAM_NAME,
} from '../support/clients/built-in-name.js';
import { hcloudGo, legoChallenge, missingOf, walk } from '../support/clients/client-programs.js';
import { type ForwardProxy, startForwardProxy } from '../support/clients/forward-proxy.js';
import {
  byDefault,
  failuresOf,
  type Phase,
  type Phases,
  PLAY_MS,
  playTerraform,
  SETS,
  setsOf,
} from '../support/clients/terraform.js';
import type { UpstreamRrset } from '../support/system/local-cloud.js';
import { type System, startSystem, type Team, ZONE } from '../support/system/start-system.js';

/*
 * The calls of Terraform for many record sets, made with the library of its provider, under the default limits and waits
 * of a gateway. The clock is real, so its duration depends on the limits. At the same time, lego, which never retries,
 * issues challenges with the same token and cleans them up, until Terraform has ended.
 */

const CHANGES = ['apply', 'refresh before ttl', 'ttl', 'refresh before records', 'records'];
const ENDS = ['refresh', 'refresh before destroy', 'destroy'];

const [go, challenger] = [await hcloudGo(), await legoChallenge()];

/** The record quota is not a rate: the challenges come in addition to the sets. */
const RECORDS_PER_TEAM = '1000';

let folder: string;
let system: System;
let proxy: ForwardProxy;

interface Play {
  readonly phases: Phases;
  /** The sets of the team in the zone before they were destroyed. */
  readonly held: readonly UpstreamRrset[];
  readonly challenges: { readonly done: number; readonly errors: readonly string[] };
}

async function play(team: Team, parallelism: number): Promise<Play> {
  const stopped = new AbortController();
  const challenges = keepChallenging(team, stopped.signal);
  try {
    const changed = await playTerraform(system.url, team, { parallelism, phases: 'apply,ttl,records' });
    const held = await setsOf(system, team.slug);
    const ended = await playTerraform(system.url, team, { parallelism, phases: 'import,refresh,destroy' });
    stopped.abort();
    return { phases: { ...changed, ...ended }, held, challenges: await challenges };
  } finally {
    stopped.abort();
  }
}

async function keepChallenging({ slug, token }: Team, signal: AbortSignal) {
  const subject = [`shop.${slug}.${ZONE}`, `127.0.0.1:${system.cloud.dnsPort}`];
  const env = builtInAddress(folder, { proxyUrl: proxy.url, token });
  const errors: string[] = [];
  let done = 0;
  for (; !signal.aborted; done += 1) {
    for (const step of ['present', 'cleanup']) {
      await walk(challenger, [step, ...subject], env).catch((error: Error) => errors.push(error.message));
    }
  }
  return { done, errors };
}

/** The two declared states of a set, and the states between them. Each change is one write, which is done or not. */
const first = { ttl: 300, records: ['192.0.2.1'] };
const last = { ttl: 600, records: ['192.0.2.2', '192.0.2.3'] };
const stateOf = ({ ttl, records }: UpstreamRrset) => ({ ttl, records: records.map(({ value }) => value) });

describeNeeding(describe, missingOf(go) ?? missingOf(challenger), `Terraform with ${SETS} record sets`, () => {
  let [ten, thirty]: Promise<Play>[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-terraform-'));
    await certifyUpstreamName(folder);
    const tlsPort = await freePort();
    const limits = { ...byDefault, DNS_RECORDS_PER_TEAM: RECORDS_PER_TEAM };
    const gatewayEnv = { ...limits, ...tlsOfUpstreamName(folder, tlsPort) };
    system = await startSystem({ teams: ['ten', 'thirty'], gatewayEnv });
    proxy = await startForwardProxy(`${UPSTREAM_NAME}:443`, tlsPort);
    // Two teams share one address. They run at the same time, as both wait for most of it.
    [ten, thirty] = system.teams.map((team, at) => play(team, [10, 30][at] as number));
    for (const played of [ten, thirty]) played?.catch(() => undefined);
  });
  afterAll(async () => {
    await proxy?.stop();
    await system?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it(
    'gets no error with ten at a time, and neither does lego',
    async () => {
      const { phases, held, challenges } = (await ten) as Play;

      expect(failuresOf(phases)).toEqual([]);
      expect([...CHANGES, ...ENDS].filter((name) => phases[name] === undefined)).toEqual([]);
      expect(held.map(stateOf)).toEqual(Array.from({ length: SETS }, () => last));
      expect((phases.import as Phase).made).toBe(SETS);
      expect(await setsOf(system, 'ten')).toEqual([]);
      expect(challenges.errors).toEqual([]);
      expect(challenges.done).toBeGreaterThan(0);
    },
    PLAY_MS,
  );

  it(
    'leaves no set half created with thirty at a time: a refused creation never started',
    async () => {
      const { phases, held } = (await thirty) as Play;

      const { apply, records } = phases as Record<'apply' | 'records', Phase>;
      expect(apply.errors.filter((error) => !/: create: .*rate_limit_exceeded/.test(error))).toEqual([]);
      expect([apply.tainted, records.tainted]).toEqual([0, 0]);
      expect(held).toHaveLength(apply.made);
      const states = [first, { ...first, ttl: last.ttl }, { ...last, ttl: first.ttl }, last];
      expect(
        held.map(stateOf).filter((state) => !states.some((each) => JSON.stringify(each) === JSON.stringify(state))),
      ).toEqual([]);
    },
    PLAY_MS,
  );
});
