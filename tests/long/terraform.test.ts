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
import type { UpstreamRrset } from '../support/system/local-cloud.js';
import { type System, startSystem, type Team, ZONE } from '../support/system/start-system.js';

/*
 * The calls of Terraform for many record sets, made with the library of its provider, under the default limits and waits
 * of a gateway. The clock is real, so its duration depends on the limits. At the same time, lego, which never retries,
 * issues challenges with the same token and cleans them up, until Terraform has ended.
 */

const SETS = Number(process.env.CORRAL_TERRAFORM_SETS ?? 200);
const CHANGES = ['apply', 'refresh before ttl', 'ttl', 'refresh before records', 'records'];
const ENDS = ['refresh', 'refresh before destroy', 'destroy'];
const PLAY_MS = 3_600_000;

const [go, challenger] = [await hcloudGo(), await legoChallenge()];

/** The default limits of a gateway. The record quota is not a rate: the challenges come in addition to its sets. */
const byDefault = {
  LIMIT_PER_ADDRESS: undefined,
  LIMIT_PER_TOKEN: undefined,
  LIMIT_PER_TEAM: undefined,
  WRITE_WAIT_MS: undefined,
  READ_WAIT_MS: undefined,
  ACTION_POLL_MS: undefined,
  UPSTREAM_TIMEOUT_MS: undefined,
  UPSTREAM_WAIT_MS: undefined,
  SETTLE_AFTER_MS: undefined,
  DNS_RECORDS_PER_TEAM: '1000',
};

let folder: string;
let system: System;
let proxy: ForwardProxy;

/** The outcome of one phase. */
interface Phase {
  readonly errors: readonly string[];
  readonly made: number;
  /** The number of sets that were created but not seen afterwards: the next run would delete and create them again. */
  readonly tainted: number;
}
interface Play {
  readonly phases: Readonly<Record<string, Phase>>;
  /** The sets of the team in the zone before they were destroyed. */
  readonly held: readonly UpstreamRrset[];
  readonly challenges: { readonly done: number; readonly errors: readonly string[] };
}

async function play({ slug, token }: Team, parallelism: number): Promise<Play> {
  const stopped = new AbortController();
  const challenges = keepChallenging({ slug, token }, stopped.signal);
  const run = async (phases: string) => {
    const args = ['terraform', ZONE, slug, String(SETS), String(parallelism), phases];
    const settings = { HCLOUD_ENDPOINT: system.url, HCLOUD_TOKEN: token };
    return (await walk(go, args, settings, { timeoutMs: PLAY_MS })) as unknown as Record<string, Phase>;
  };
  try {
    const changed = await run('apply,ttl,records');
    const held = await setsOf(slug);
    const ended = await run('import,refresh,destroy');
    stopped.abort();
    return { phases: { ...changed, ...ended }, held, challenges: await challenges };
  } finally {
    stopped.abort();
  }
}

async function setsOf(slug: string): Promise<UpstreamRrset[]> {
  const stated = [...(await system.cloud.stated()).values()].map((text) => JSON.parse(text) as UpstreamRrset);
  return stated.filter(({ name, type }) => type === 'A' && name.endsWith(`.${slug}`));
}

async function keepChallenging({ slug, token }: Pick<Team, 'slug' | 'token'>, signal: AbortSignal) {
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
    const gatewayEnv = { ...byDefault, ...tlsOfUpstreamName(folder, tlsPort) };
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

      expect(
        Object.entries(phases).flatMap(([name, { errors = [] }]) => errors.map((error) => `${name}: ${error}`)),
      ).toEqual([]);
      expect([...CHANGES, ...ENDS].filter((name) => phases[name] === undefined)).toEqual([]);
      expect(held.map(stateOf)).toEqual(Array.from({ length: SETS }, () => last));
      expect((phases.import as Phase).made).toBe(SETS);
      expect(await setsOf('ten')).toEqual([]);
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
