import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { stringify } from 'yaml';
import { runCli } from '../src/run-cli.js';

/* kubectl asks with every command, on a machine whose clock differs from that of the service. */

const MINUTE = 60_000;
const started = Date.now();
const base64 = (text: string) => Buffer.from(text).toString('base64');

let folder: string;
let server: Server;
let url: string;
let issued: number;
/** What passes for everybody, and by how much the clock of this machine is wrong. */
let [passed, wrong, grantedMs] = [0, 0, 60 * MINUTE];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-credential-'));
  [issued, passed, wrong, grantedMs] = [0, 0, 0, 60 * MINUTE];
  server = createServer((_request, response) => {
    issued += 1;
    const user = { 'client-certificate-data': base64(`certificate ${issued}`), 'client-key-data': base64('key') };
    const now = started + passed;
    response.writeHead(200, { 'Content-Type': 'application/json', Date: new Date(now).toUTCString() }).end(
      JSON.stringify({
        kubeconfig: stringify({ clusters: [], contexts: [], users: [{ name: 'u', user }], 'current-context': 'c' }),
        expiresAt: new Date(now + grantedMs).toISOString(),
        scope: 'cluster-admin',
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  jest.spyOn(Date, 'now').mockImplementation(() => started + passed + wrong);
  jest.spyOn(os, 'uptime').mockImplementation(() => (1_000 * MINUTE + passed) / 1_000);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

async function corral(args: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await runCli(['kubeconfig', ...args, '--team', 'acme'], {
    env: {
      KUBECONFIG: join(folder, 'kubeconfig'),
      CORRAL_CONFIG: join(folder, 'config.yaml'),
      CORRAL_CACHE: folder,
      CORRAL_URL: url,
      CORRAL_TOKEN: 'corral_x',
    },
    stdin: Readable.from([]),
    out,
    err,
    signal: new AbortController().signal,
    outputClosed: new AbortController().signal,
    sleep: async () => undefined,
    openBrowser: async () => undefined,
  });
  return { code, err: err.read(), out: String(out.read()) };
}

async function kubectlAsks(...args: string[]) {
  const { code, err, out } = await corral(['credential', 'web', ...args]);
  expect({ code, err }).toEqual({ code: 0, err: null });
  const { status } = JSON.parse(out);
  return { of: status.clientCertificateData, leftMs: Date.parse(status.expirationTimestamp) - Date.now() };
}

it.each([
  ['right', 0],
  ['a day ahead', 24 * 60 * MINUTE],
  ['a day behind', -24 * 60 * MINUTE],
])('a credential is kept until a minute before its end by a clock that is %s', async (_what, by) => {
  wrong = by;

  const first = await kubectlAsks();
  passed = 58 * MINUTE;
  const later = await kubectlAsks();
  passed = 59 * MINUTE + 1;
  const last = await kubectlAsks();

  expect([first.of, later.of, last.of]).toEqual(['certificate 1', 'certificate 1', 'certificate 2']);
  // The service tells its time in seconds.
  for (const [{ leftMs }, minutes] of [
    [first, 60],
    [later, 2],
    [last, 60],
  ] as const) {
    expect(Math.abs(leftMs - minutes * MINUTE)).toBeLessThanOrEqual(1_000);
  }
});

it('a clock that is set costs one credential at most, and none is handed out after its end', async () => {
  for (const by of [0, 5 * 60 * MINUTE, -5 * 60 * MINUTE, 0]) {
    wrong = by;
    await kubectlAsks();
    await kubectlAsks();
  }
  expect(issued).toBeLessThanOrEqual(3);

  passed += 61 * MINUTE;
  const before = issued;
  await kubectlAsks();
  expect(issued).toBe(before + 1);
});

it('a credential is not kept for longer than the garden granted', async () => {
  grantedMs = 10 * MINUTE;

  await kubectlAsks('--ttl', '8h');
  passed = 9 * MINUTE + 1_001;
  await kubectlAsks('--ttl', '8h');

  expect(issued).toBe(2);
});

it('no credential is asked for that a broken kubeconfig could not take', async () => {
  await writeFile(join(folder, 'kubeconfig'), 'contexts: [');

  const { code, err } = await corral(['get', 'web', '--exec', '--merge']);

  expect({ code, issued }).toEqual({ code: 2, issued: 0 });
  expect(String(err)).toContain('The existing kubeconfig is not valid.');
});
