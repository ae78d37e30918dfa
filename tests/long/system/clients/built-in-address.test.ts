import { readFile } from 'node:fs/promises';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ownUpstreamName, UPSTREAM_NAME, type UpstreamName } from '../../../support/clients/built-in-name.js';
import { missingPrograms } from '../../../support/clients/client-programs.js';
import { runCommand } from '../../../support/clients/run-command.js';
import { builtFile } from '../../../support/system/program.js';
import { startSystem, ZONE } from '../../../support/system/start-system.js';
import { type Ends, undo } from '../../../support/system/system-parts.js';

/** The commands of the guide that create an authority and then a certificate. */
const guide = await readFile(builtFile('docs/clients.md'), 'utf8');
const recipe = /```sh\n(openssl req -x509[^`]*?)(openssl req -new[^`]*)```/.exec(guide)?.slice(1) ?? [];

describeNeeding(describe, missingPrograms('bash', 'openssl', 'curl'), 'the authority of the guide', () => {
  const ends: Ends = [];
  let name: UpstreamName;
  beforeAll(async () => {
    name = await ownUpstreamName(ends);
  });
  afterAll(() => undo(ends));

  /** @returns the output of the command @throws Error with it if it fails */
  async function inFolder(command: string): Promise<string> {
    const { code, stdout, stderr } = await runCommand(['bash', '-ec', command], { cwd: name.folder });
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  it('makes the gateway trusted under the name of the upstream, and can sign for no other name', async () => {
    await inFolder(recipe.join(''));
    const system = await startSystem({ gatewayEnv: name.gatewayEnv });
    ends.push(system.stop);
    const [, issue = ''] = recipe;
    await inFolder(issue.replaceAll(UPSTREAM_NAME, 'other.example').replaceAll('tls.', 'other.'));

    const to = ['--connect-to', `${UPSTREAM_NAME}:443:127.0.0.1:${name.port}`, `https://${UPSTREAM_NAME}/v1/zones`];
    const authorization = ['-H', `Authorization: Bearer ${system.teams[0]?.token}`];
    const trusting = await runCommand(['curl', '-sS', '--cacert', name.authority, ...authorization, ...to]);
    expect(JSON.parse(trusting.stdout)).toMatchObject({ zones: [{ name: ZONE }] });
    expect(await runCommand(['curl', '-sS', ...authorization, ...to])).toMatchObject({ code: 60, stdout: '' });
    expect(await inFolder('openssl verify -x509_strict -CAfile ca.pem tls.crt')).toBe('tls.crt: OK\n');
    await expect(inFolder('openssl verify -CAfile ca.pem other.crt')).rejects.toThrow('permitted subtree violation');
  });
});
