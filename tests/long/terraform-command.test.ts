import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding, type Missing } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withNames } from '../support/clients/matrix/stage.js';
import { runCommand } from '../support/clients/run-command.js';
import { byDefault, PLAY_MS, REQUESTS_PER_HOUR, SETS, setsOf } from '../support/clients/terraform.js';
import { builtFile } from '../support/system/program.js';
import { type System, startSystem, type Team } from '../support/system/start-system.js';

/*
 * Terraform itself with the configuration of the page and many record sets more, under default limits and the budget that the
 * upstream grants. The clock is real.
 */

const FILES = ['main.tf', 'many.tf'];
const NEEDED: Missing = {
  what: 'Terraform with the provider hetznercloud/hcloud',
  how: 'put terraform on PATH, and let `terraform init` reach a registry',
  isRare: true,
};

const sourceOf = (file: string): string => builtFile(`tests/clients/terraform/${file}`);

const folder = await mkdtemp(join(tmpdir(), 'corral-terraform-'));
for (const file of FILES) await copyFile(sourceOf(file), join(folder, file));
const init = await runCommand(['terraform', 'init', '-input=false'], { cwd: folder, timeoutMs: 600_000 });
if (init.code !== 0) await rm(folder, { recursive: true, force: true });

describeNeeding(describe, init.code === 0 ? null : NEEDED, `Terraform itself with ${SETS} record sets`, () => {
  let system: System;
  let busy: Team;
  beforeAll(async () => {
    system = await startSystem({ teams: ['busy'], requestsPerHour: REQUESTS_PER_HOUR, gatewayEnv: byDefault });
    [busy] = system.teams as [Team];
    for (const file of FILES) {
      await writeFile(join(folder, file), withNames(await readFile(sourceOf(file), 'utf8'), { system, team: busy }));
    }
  });
  afterAll(async () => {
    await system?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs a command of Terraform for a state of the sets. @throws Error with its last words if it fails */
  async function terraform(command: string[], { ttl, value }: { ttl: number; value: string }): Promise<void> {
    const env = {
      TF_VAR_dns_token: busy.token,
      TF_VAR_count_of_sets: String(SETS - 1), // one is in the configuration of the page
      TF_VAR_ttl: String(ttl),
      TF_VAR_value: value,
      CHECKPOINT_DISABLE: '1',
    };
    const args = ['terraform', ...command, '-input=false', '-no-color'];
    const { code, stdout, stderr } = await runCommand(args, { cwd: folder, env, timeoutMs: PLAY_MS });
    if (code !== 0)
      throw new Error(`terraform ${command.join(' ')} ended with ${code}: ${`${stdout}${stderr}`.slice(-4_000)}`);
  }

  it(
    'creates them, changes TTL, records and labels of all of them twice, and destroys them, without an error',
    async () => {
      const states = [
        { ttl: 300, value: '192.0.2.1' },
        { ttl: 600, value: '192.0.2.2' },
        { ttl: 900, value: '192.0.2.3' },
      ];
      for (const state of states) await terraform(['apply', '-auto-approve'], state);
      const [last] = states.slice(-1) as [(typeof states)[number]];
      await terraform(['plan', '-detailed-exitcode'], last); // ends with 2 if it would change anything

      const many = (await setsOf(system, 'busy')).filter(({ name }) => name.startsWith('tf'));
      expect(
        many.map(({ ttl, labels, records }) => ({ ttl, labels, values: records.map(({ value }) => value) })),
      ).toEqual(Array.from({ length: SETS - 1 }, () => ({ ttl: 900, labels: { ttl: '900' }, values: ['192.0.2.3'] })));
      await terraform(['destroy', '-auto-approve'], last);
      expect(await setsOf(system, 'busy')).toEqual([]);
      expect((await system.cloud.budget()).refused).toBe(0);
    },
    PLAY_MS,
  );
});
