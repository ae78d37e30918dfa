import { spawnSync } from 'node:child_process';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingPrograms } from '../../../support/clients/client-programs.js';
import { commandBlocksOf } from '../../../support/docs/documented-commands.js';
import { builtFile } from '../../../support/system/program.js';
import { type System, startSystem, ZONE } from '../../../support/system/start-system.js';

/* The commands of docs/operate.md from nothing to the first record. Only the addresses are replaced. */

describeNeeding(describe, missingPrograms('bash', 'curl', 'jq'), 'the first steps of an operator', () => {
  let system: System;
  beforeAll(async () => {
    system = await startSystem({ teams: [] });
  });
  afterAll(() => system?.stop());

  it('lead to a team with its first record, and to its first person', async () => {
    const steps = commandBlocksOf('docs/operate.md', 'The first team and its first record');
    expect(steps).toHaveLength(3);
    const script = steps
      .map((step) => step.script)
      .join('\n')
      .replace('https://dns.example.org/v1/zones/example.org', `${system.url}/zones/${ZONE}`);
    const command = `corral-admin() { '${process.execPath}' '${builtFile('apps/admin/dist/main.js')}' "$@"; }`;

    const { status, stdout, stderr } = spawnSync(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', `${command}\n${script}`],
      {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, DATABASE_URL: system.databaseUrl, DNS_ZONE_NAME: ZONE },
      },
    );

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.match(/"value":"192\.0\.2\.1"/g)).toHaveLength(2);
    expect(stdout).toMatch(/www\.acme.*A/);
    expect((await system.cloud.stated()).get('www.acme/A')).toContain('192.0.2.1');
    expect(await system.admin('team', 'members', 'acme')).toContain('ann@example.org');
  });
});
