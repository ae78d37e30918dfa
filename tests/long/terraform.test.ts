import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeNeeding, type Missing } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ownUpstreamName, type UpstreamName } from '../support/clients/built-in-name.js';
import { hcloudGo, legoChallenge, missingOf, walk } from '../support/clients/client-programs.js';
import { callDns } from '../support/clients/dns-api.js';
import {
  apply,
  applyUntilDone,
  held,
  type Stage,
  setStage,
  settledSets,
  withNames,
} from '../support/clients/matrix/stage.js';
import { sorted, wantedStates } from '../support/clients/matrix/wanted.js';
import { runCommand } from '../support/clients/run-command.js';
import { builtFile } from '../support/system/program.js';
import { type System, startSystem, type Team, ZONE } from '../support/system/start-system.js';
import { type Ends, ownFolder, undo } from '../support/system/system-parts.js';

/*
 * Many record sets in one configuration of Terraform, under the default limits and waits of a gateway. The clock is real, so the duration
 * depends on the limits. The calls of its provider are made with the library of the provider, and where there is Terraform, by itself.
 */

const SETS = Number(process.env.CORRAL_TERRAFORM_SETS ?? 200);
/** What the upstream grants to a project. */
const REQUESTS_PER_HOUR = 3_600;
const QUIET_TEAMS = Array.from({ length: 9 }, (_, at) => `quiet-${at + 1}`);
/** What a quiet team has written before it became quiet. */
const SETS_OF_A_QUIET_TEAM = 10;
/** Longer than all of it takes under the default limits. */
const PLAY_MS = 3_600_000;

/** Unsets what tests shorten or lift. The quota of records is not a rate. */
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
} as const;

const ends: Ends = [];
const folder = await ownFolder(ends);
afterAll(() => undo(ends));

const [go, challenger] = [await hcloudGo(), await legoChallenge()];
const statesOf = ({ team }: Stage) => wantedStates(team.slug, { zone: ZONE, many: SETS });

/** The calls of Terraform, so many at once. */
const stageOf = (system: System, team: Team, parallelism: number): Promise<Stage> => {
  const env = { HCLOUD_ENDPOINT: system.url, HCLOUD_TOKEN: team.token };
  const command = go.kind === 'found' ? [...go.command, String(parallelism)] : [];
  return setStage({ system, team, folder: join(folder, team.slug), command, env }, { folder: 'hcloud-go' });
};

/** Reads with a token of its own, as the run has used up the limit of the other. */
async function readSets(stage: Stage): ReturnType<typeof settledSets> {
  const token = await stage.system.issueToken(stage.team);
  return settledSets({ ...stage, team: { ...stage.team, token } });
}

async function applyInOneRun(stage: Stage, wanted: Parameters<typeof sorted>[0]): Promise<void> {
  await applyUntilDone(stage, wanted, { runsMax: 1 });
  expect(sorted(await readSets(stage))).toEqual(sorted(wanted));
}

describeNeeding(describe, missingOf(go) ?? missingOf(challenger), `Terraform with ${SETS} record sets`, () => {
  let system: System;
  let name: UpstreamName;
  beforeAll(async () => {
    name = await ownUpstreamName(ends);
    system = await startSystem({ teams: ['ten', 'thirty'], gatewayEnv: { ...byDefault, ...name.gatewayEnv } });
    ends.push(system.stop);
  });

  /** lego, which never retries, with the token of the team. */
  async function keepChallenging({ slug, token }: Team, signal: AbortSignal): Promise<number> {
    const subject = [`shop.${slug}.${ZONE}`, `127.0.0.1:${system.cloud.dnsPort}`];
    const env = name.clientEnv({ token });
    for (let done = 0; ; done += 1) {
      if (signal.aborted) return done;
      for (const step of ['present', 'cleanup']) await walk(challenger, [step, ...subject], env);
    }
  }

  it(
    'gets no error with ten at a time, and neither does lego beside it',
    async () => {
      const stage = await stageOf(system, system.teams[0] as Team, 10);
      const applied = new AbortController();
      const challenges = keepChallenging(stage.team, applied.signal);
      const { created, changed } = statesOf(stage);
      await applyUntilDone(stage, created, { runsMax: 1 }).finally(() => applied.abort());
      expect(await challenges).toBeGreaterThan(0);

      for (const wanted of [created, changed, []]) await applyInOneRun(stage, wanted);
    },
    PLAY_MS,
  );

  it(
    'leaves no set half created with thirty at a time: a refused creation never started',
    async () => {
      const stage = await stageOf(system, system.teams[1] as Team, 30);
      const { ok, said } = await apply(stage, statesOf(stage).created);

      if (!ok) expect(said).toContain('rate_limit_exceeded');
      const { sets, tainted } = await held(stage);
      expect(tainted).toEqual([]);
      expect(sorted(await readSets(stage))).toEqual(sorted(sets));
    },
    PLAY_MS,
  );
});

describeNeeding(describe, missingOf(go), `Terraform with a budget of ${REQUESTS_PER_HOUR} calls`, () => {
  let system: System;
  beforeAll(async () => {
    const teams = ['busy', ...QUIET_TEAMS];
    system = await startSystem({ teams, requestsPerHour: REQUESTS_PER_HOUR, gatewayEnv: byDefault });
    ends.push(system.stop);
  });

  async function writeALittle({ slug, token }: Team): Promise<void> {
    for (let at = 1; at <= SETS_OF_A_QUIET_TEAM; at += 1) {
      const body = { name: `quiet${at}.${slug}`, type: 'A', records: [{ value: `192.0.2.${at}` }] };
      const { status } = await callDns(system.url, { method: 'POST', path: `/zones/${ZONE}/rrsets`, token, body });
      expect(status).toBe(201);
    }
  }

  it(
    'gets no error beside nine teams that have written and are quiet',
    async () => {
      const [busy, ...quiet] = system.teams as [Team, ...Team[]];
      await Promise.all(quiet.map(writeALittle));
      const stage = await stageOf(system, busy, 10);
      const { created, changed } = statesOf(stage);

      for (const wanted of [created, changed, []]) await applyInOneRun(stage, wanted);
      expect((await system.cloud.budget()).refused).toBe(0);
    },
    PLAY_MS,
  );
});

const NEEDED: Missing = {
  what: 'Terraform with the provider hetznercloud/hcloud',
  how: 'put terraform on PATH, and let `terraform init` reach a registry',
  isRare: true,
};
const FILES = ['main.tf', 'many.tf'];
const sourceOf = (file: string): string => builtFile(`tests/clients/terraform/${file}`);
for (const file of FILES) await copyFile(sourceOf(file), join(folder, file));
const init = await runCommand(['terraform', 'init', '-input=false'], { cwd: folder, timeoutMs: 600_000 });

describeNeeding(describe, init.code === 0 ? null : NEEDED, `Terraform itself with ${SETS} record sets`, () => {
  let system: System;
  let busy: Team;
  beforeAll(async () => {
    system = await startSystem({ teams: ['busy'], requestsPerHour: REQUESTS_PER_HOUR, gatewayEnv: byDefault });
    ends.push(system.stop);
    [busy] = system.teams as [Team];
    for (const file of FILES) {
      await writeFile(join(folder, file), withNames(await readFile(sourceOf(file), 'utf8'), { system, team: busy }));
    }
  });

  /** Runs a command of Terraform for a state of the sets. @throws Error with its last words if it fails */
  async function terraform(command: string[], at: number): Promise<void> {
    const env = {
      TF_VAR_dns_token: busy.token,
      TF_VAR_count_of_sets: String(SETS - 1), // one is in the configuration of the page
      TF_VAR_ttl: String(300 * at),
      TF_VAR_value: `192.0.2.${at}`,
      CHECKPOINT_DISABLE: '1',
    };
    const args = ['terraform', ...command, '-input=false', '-no-color'];
    const { code, stdout, stderr } = await runCommand(args, { cwd: folder, env, timeoutMs: PLAY_MS });
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${`${stdout}${stderr}`.slice(-4_000)}`);
  }
  const setsOf = async (path: RegExp) =>
    [...(await system.cloud.stated())].filter(([id]) => path.test(id)).map(([, text]) => JSON.parse(text));

  it(
    'creates them, changes TTL, records and labels of all of them twice, and destroys them, without an error',
    async () => {
      for (const at of [1, 2, 3]) await terraform(['apply', '-auto-approve'], at);
      await terraform(['plan', '-detailed-exitcode'], 3); // ends with 2 if it would change anything

      const last = { ttl: 900, labels: { ttl: '900' }, records: [{ value: '192.0.2.3' }] };
      expect(await setsOf(/^tf.*\.busy\/A$/)).toMatchObject(Array.from({ length: SETS - 1 }, () => last));
      await terraform(['destroy', '-auto-approve'], 3);
      expect(await setsOf(/\.busy\/A$/)).toEqual([]);
      expect((await system.cloud.budget()).refused).toBe(0);
    },
    PLAY_MS,
  );
});
