import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ownUpstreamName, UPSTREAM_NAME } from '../../../support/clients/built-in-name.js';
import { missingCurl, missingOpenssl } from '../../../support/clients/client-programs.js';
import { runCommand } from '../../../support/clients/run-command.js';
import { builtFile } from '../../../support/system/program.js';
import { startSystem, type Team, ZONE } from '../../../support/system/start-system.js';
import { type Ends, undo } from '../../../support/system/system-parts.js';

const withoutOpenssl = missingOpenssl();

const ends: Ends = [];
let folder: string;
let acme: Team;
let tlsPort: number;
const file = (name: string): string => join(folder, name);

/** The commands of the guide that create an authority and then a certificate. */
const guide = await readFile(builtFile('docs/clients.md'), 'utf8');
const recipe = /```sh\n(openssl req -x509[^`]*?)(openssl req -new[^`]*)```/.exec(guide)?.slice(1) ?? [];

/** @returns the output of the command */
async function inFolder(command: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(['bash', '-ec', command], { cwd: folder });
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${stdout}${stderr}`);
  return stdout;
}

beforeAll(async () => {
  const name = await ownUpstreamName(ends);
  ({ folder, port: tlsPort } = name);
  if (withoutOpenssl === null) await inFolder(recipe.join(''));
  const system = await startSystem({ gatewayEnv: name.gatewayEnv });
  ends.push(system.stop);
  [acme] = system.teams as [Team];
});
afterAll(() => undo(ends));

describe('a client in Node.js with a built-in address', () => {
  it('writes and reads when the name of the upstream leads to the gateway', async () => {
    const ca = await readFile(file('ca.pem'), 'utf8');
    const call = (method: string, path: string, body?: object) =>
      new Promise<{ status: number | undefined; json: unknown }>((resolve, reject) => {
        const req = request(`https://${UPSTREAM_NAME}:${tlsPort}/v1${path}`, {
          method,
          ca,
          headers: { authorization: `Bearer ${acme.token}`, 'content-type': 'application/json' },
          lookup: (_name, { all }, done) =>
            all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
        });
        req.on('error', reject).on('response', async (res) => {
          let text = '';
          for await (const part of res.setEncoding('utf8')) text += part;
          resolve({ status: res.statusCode, json: JSON.parse(text) });
        });
        req.end(body === undefined ? undefined : JSON.stringify(body));
      });

    const rrset = { name: 'node.acme', type: 'A', ttl: 300, records: [{ value: '192.0.2.1' }] };
    const created = await call('POST', `/zones/${ZONE}/rrsets`, rrset);
    const read = await call('GET', `/zones/${ZONE}/rrsets/node.acme/A`);

    expect(created).toMatchObject({ status: 201, json: { rrset: { id: 'node.acme/A' } } });
    expect(read).toMatchObject({ status: 200, json: { rrset: { ttl: 300, records: [{ value: '192.0.2.1' }] } } });
  });
});

describeNeeding(describe, missingCurl(), 'curl', () => {
  const curl = (...args: string[]) =>
    runCommand([
      'curl',
      '-sS',
      '--connect-to',
      `${UPSTREAM_NAME}:443:127.0.0.1:${tlsPort}`,
      ...args,
      '-H',
      `Authorization: Bearer ${acme.token}`,
      `https://${UPSTREAM_NAME}/v1/zones`,
    ]);

  it('trusts the gateway when it knows the authority', async () => {
    const { stdout } = await curl('--cacert', file('ca.pem'));

    expect(JSON.parse(stdout)).toMatchObject({ zones: [{ name: ZONE }] });
  });

  it('does not trust it otherwise', async () => {
    expect(await curl()).toMatchObject({ code: 60, stdout: '' });
  });
});

describeNeeding(describe, withoutOpenssl, 'the authority of the guide', () => {
  it('can sign certificates for the name of the upstream and for no other', async () => {
    const [, issue = ''] = recipe;
    await inFolder(issue.replaceAll(UPSTREAM_NAME, 'other.example').replaceAll('tls.', 'other.'));

    expect(await inFolder('openssl verify -x509_strict -CAfile ca.pem tls.crt')).toBe('tls.crt: OK\n');
    await expect(inFolder('openssl verify -CAfile ca.pem other.crt')).rejects.toThrow('permitted subtree violation');
  });
});
