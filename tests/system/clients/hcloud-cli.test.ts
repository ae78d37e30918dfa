import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hcloudCli, missingOf } from '../../support/clients/client-programs.js';
import { type CommandResult, runCommand } from '../../support/clients/run-command.js';
import { type System, startSystem, type Team, ZONE } from '../../support/system/start-system.js';
import { type Ends, ownFolder, undo } from '../../support/system/system-parts.js';

const cli = await hcloudCli();

describeNeeding(describe, missingOf(cli), 'the hcloud CLI', () => {
  const ends: Ends = [];
  let system: System;
  let acme: Team;
  let folder: string;

  beforeAll(async () => {
    folder = await ownFolder(ends);
    system = await startSystem();
    ends.push(system.stop);
    acme = system.teams[0] as Team;
  });
  afterAll(() => undo(ends));

  const run = (args: readonly string[], env: Record<string, string | undefined> = {}): Promise<CommandResult> =>
    runCommand([...(cli.kind === 'found' ? cli.command : []), ...args], {
      env: {
        HCLOUD_ENDPOINT: system.url,
        HCLOUD_TOKEN: acme.token,
        HCLOUD_CONFIG: join(folder, 'cli.toml'), // not the configuration of the user who runs the tests
        HCLOUD_CONTEXT: undefined,
        ...env,
      },
    });
  /** @throws Error with its output if it exits with another code than 0 */
  const hcloud = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(args);
    if (code !== 0) throw new Error(`hcloud ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  };
  const rrset = (...args: string[]): Promise<string> => hcloud('zone', 'rrset', ...args);
  const describeSet = async (name: string, type = 'A') =>
    JSON.parse(await rrset('describe', ZONE, name, type, '-o', 'json')) as Described;
  const valuesOf = async (name: string): Promise<string[]> =>
    (await describeSet(name)).records.map(({ value }) => value).sort();

  interface Described {
    readonly id: string;
    readonly ttl: number | null;
    readonly labels: Record<string, string>;
    readonly records: { value: string; comment: string }[];
  }

  it('lists and describes the zone', async () => {
    const zones = JSON.parse(await hcloud('zone', 'list', '-o', 'json'));
    const described = await hcloud('zone', 'describe', ZONE);

    expect(zones).toEqual([expect.objectContaining({ name: ZONE, mode: 'primary', status: 'ok' })]);
    expect(described).toContain(ZONE);
  });

  it('creates, describes and lists record sets, wildcards too', async () => {
    const records = ['--record', '192.0.2.1', '--record', '192.0.2.2', '--ttl', '300', '--label', 'env=test'];
    await rrset('create', '--name', 'www.acme', '--type', 'A', ...records, ZONE);
    await rrset('create', '--name', '*.apps.acme', '--type', 'CNAME', '--record', 'www.acme', ZONE);

    expect(await describeSet('www.acme')).toMatchObject({ id: 'www.acme/A', ttl: 300, labels: { env: 'test' } });
    expect(await valuesOf('www.acme')).toEqual(['192.0.2.1', '192.0.2.2']);
    const list = JSON.parse(await rrset('list', ZONE, '-o', 'json')) as Described[];
    expect(list.map(({ id }) => id)).toEqual(['*.apps.acme/CNAME', 'www.acme/A']);
    expect(await rrset('list', ZONE, '--type', 'A', '--selector', 'env=test')).toContain('www.acme');
  });

  it('quotes and splits long texts by itself', async () => {
    await rrset('create', '--name', 'text.acme', '--type', 'TXT', '--record', 'x'.repeat(300), ZONE);

    const { records } = await describeSet('text.acme', 'TXT');

    expect(records.map(({ value }) => value)).toEqual([`"${'x'.repeat(255)}" "${'x'.repeat(45)}"`]);
  });

  it('sets, adds and removes records; removing the last one deletes the set', async () => {
    await rrset('add-records', '--record', '192.0.2.1', ZONE, 'api.acme', 'A');
    await rrset('set-records', '--record', '192.0.2.2', '--record', '192.0.2.3', ZONE, 'api.acme', 'A');
    await rrset('add-records', '--record', '192.0.2.4', ZONE, 'api.acme', 'A');
    expect(await valuesOf('api.acme')).toEqual(['192.0.2.2', '192.0.2.3', '192.0.2.4']);

    await rrset('remove-records', '--record', '192.0.2.2', '--record', '192.0.2.3', ZONE, 'api.acme', 'A');
    expect(await valuesOf('api.acme')).toEqual(['192.0.2.4']);
    await rrset('remove-records', '--record', '192.0.2.4', ZONE, 'api.acme', 'A');

    expect((await run(['zone', 'rrset', 'describe', ZONE, 'api.acme', 'A'])).stderr).toMatch(/not found/i);
  });

  it('changes a TTL and labels, and deletes', async () => {
    await rrset('create', '--name', 'change.acme', '--type', 'A', '--record', '192.0.2.1', ZONE);
    await rrset('change-ttl', '--ttl', '600', ZONE, 'change.acme', 'A');
    await rrset('add-label', ZONE, 'change.acme', 'A', 'env=prod', 'team=acme');
    await rrset('remove-label', ZONE, 'change.acme', 'A', 'env');
    expect(await describeSet('change.acme')).toMatchObject({ ttl: 600, labels: { team: 'acme' } });

    expect(await rrset('delete', ZONE, 'change.acme', 'A')).toContain('deleted');

    expect((await run(['zone', 'rrset', 'describe', ZONE, 'change.acme', 'A'])).code).not.toBe(0);
  });

  it('shows readable errors for names and types that the team may not write', async () => {
    const create = (name: string, type = 'A') =>
      run(['zone', 'rrset', 'create', '--name', name, '--type', type, '--record', '192.0.2.1', ZONE]);

    expect((await create('www.globex')).stderr).toMatch(
      /does not belong to you. You can write acme and names below it.*forbidden/,
    );
    expect((await create('@')).stderr).toMatch(/forbidden/);
    expect((await create('a..acme')).stderr).toMatch(/name is not valid.*forbidden/);
    expect((await create('mail.acme', 'MX')).stderr).toMatch(/use one of A, AAAA, CNAME, TXT.*forbidden/);
  });

  it('shows a readable error for an unknown token', async () => {
    const { code, stderr } = await run(['zone', 'list'], { HCLOUD_TOKEN: 'x'.repeat(64) });

    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/unknown, expired or revoked.*unauthorized/),
    });
  });

  it('keeps endpoint and token in a context', async () => {
    const config = join(folder, 'context.toml');
    const env = { HCLOUD_CONFIG: config };
    await run(['context', 'create', '--token-from-env', 'corral'], env);
    await run(['config', 'set', 'endpoint', system.url], { ...env, HCLOUD_TOKEN: undefined });

    const listed = await run(['zone', 'list'], { ...env, HCLOUD_ENDPOINT: undefined, HCLOUD_TOKEN: undefined });

    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining(ZONE) });
    expect(await readFile(config, 'utf8')).toContain(acme.token);
    expect((await stat(config)).mode & 0o077).toBe(0);
  });
});
