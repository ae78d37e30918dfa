import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hcloudGo, missingOf } from '../support/clients/client-programs.js';
import { callDns } from '../support/clients/dns-api.js';
import {
  byDefault,
  failuresOf,
  type Phases,
  PLAY_MS,
  playTerraform,
  REQUESTS_PER_HOUR,
  SETS,
  setsOf,
} from '../support/clients/terraform.js';
import type { UpstreamRrset } from '../support/system/local-cloud.js';
import { type System, startSystem, type Team, ZONE } from '../support/system/start-system.js';

/*
 * A large configuration of Terraform under default limits and the budget that the upstream grants to everybody together. Its
 * calls are made with the library of its provider, which tries a refused call five times more within 5 to 31 s. The clock is real.
 */

const QUIET_TEAMS = 9;
/** What a quiet team has written before it became quiet. */
const SETS_OF_A_QUIET_TEAM = 10;
const PHASES = ['apply', 'everything', 'everything again', 'import', 'refresh', 'destroy'];

const go = await hcloudGo();

interface Play {
  readonly phases: Phases;
  /** The sets of the team in the zone before they were destroyed, and afterwards. */
  readonly held: readonly UpstreamRrset[];
  readonly left: readonly UpstreamRrset[];
  /** The number of requests that came when the budget of the upstream was used up. */
  readonly refusedByUpstream: number;
}

const quietTeams = Array.from({ length: QUIET_TEAMS }, (_, at) => `quiet-${at + 1}`);

describeNeeding(
  describe,
  missingOf(go),
  `Terraform with ${SETS} record sets and a budget of ${REQUESTS_PER_HOUR} calls`,
  () => {
    const systems: System[] = [];
    let [alone, besideOthers]: Promise<Play>[] = [];
    beforeAll(async () => {
      for (const others of [[], quietTeams]) {
        const teams = ['busy', ...others];
        systems.push(await startSystem({ teams, requestsPerHour: REQUESTS_PER_HOUR, gatewayEnv: byDefault }));
      }
      // Each has its own upstream. They run at the same time, as both wait for most of it.
      [alone, besideOthers] = systems.map(play);
      for (const played of [alone, besideOthers]) played?.catch(() => undefined);
    });
    afterAll(async () => {
      await Promise.all(systems.map((system) => system.stop()));
    });

    it('gets no error while no other team is active', async () => expectNoError(await alone), PLAY_MS);
    it(
      'gets no error beside nine teams that have written and are quiet',
      async () => expectNoError(await besideOthers),
      PLAY_MS,
    );
  },
);

async function play(system: System): Promise<Play> {
  const [busy, ...quiet] = system.teams as [Team, ...Team[]];
  await Promise.all(quiet.map((team) => writeALittle(system, team)));
  const run = (phases: string) => playTerraform(system.url, busy, { parallelism: 10, phases });
  const changed = await run('apply,everything,everything again');
  const held = await setsOf(system, busy.slug);
  const ended = await run('import,refresh,destroy');
  const left = await setsOf(system, busy.slug);
  return { phases: { ...changed, ...ended }, held, left, refusedByUpstream: (await system.cloud.budget()).refused };
}

async function writeALittle({ url }: System, { slug, token }: Team): Promise<void> {
  for (let at = 1; at <= SETS_OF_A_QUIET_TEAM; at += 1) {
    const body = { name: `quiet${at}.${slug}`, type: 'A', records: [{ value: `192.0.2.${at}` }] };
    const { status } = await callDns(url, { method: 'POST', path: `/zones/${ZONE}/rrsets`, token, body });
    expect(status).toBe(201);
  }
}

function expectNoError(played: Play | undefined): void {
  const { phases, held, left, refusedByUpstream } = played as Play;
  expect(failuresOf(phases)).toEqual([]);
  expect(PHASES.filter((name) => phases[name] === undefined)).toEqual([]);
  const last = { ttl: 900, labels: { ttl: '900' }, values: ['192.0.2.3'] };
  expect(held.map(({ ttl, labels, records }) => ({ ttl, labels, values: records.map(({ value }) => value) }))).toEqual(
    Array.from({ length: SETS }, () => last),
  );
  expect(left).toEqual([]);
  expect(refusedByUpstream).toBe(0);
}
