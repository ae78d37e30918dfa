import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describeNeeding, unlessInstalled } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { builtFile } from '../../../support/system/program.js';
import { type System, startSystem, ZONE } from '../../../support/system/start-system.js';

/* The commands of docs/operate.md from nothing to the first record. Only the addresses are replaced. */

const needed = ['bash', 'curl', 'jq'].map((name) =>
  unlessInstalled([name, '--version'], { what: name, how: `put ${name} on PATH` }),
);

function documentedSteps(): string[] {
  const text = readFileSync(builtFile('docs/operate.md'), 'utf8');
  const [, rest = ''] = text.split('## The first team and its first record\n');
  const [section = ''] = rest.split('\n## ');
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block.replaceAll(/^ {3}/gm, ''));
}

describeNeeding(describe, needed.find((each) => each !== null) ?? null, 'the first steps of an operator', () => {
  let system: System;
  beforeAll(async () => {
    system = await startSystem({ teams: [] });
  });
  afterAll(() => system?.stop());

  it('lead to a team with its first record, and to its first person', async () => {
    const steps = documentedSteps();
    expect(steps).toHaveLength(3);
    const script = steps
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
