import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { runCli } from '../src/run-cli.js';

/* A pipeline that has a token of its own issuer, against an endpoint as RFC 8693 describes it. */

let folder: string;
let server: Server;
let url: string;
/** Tokens that were issued, the newest of which is valid. */
let issued: { readonly token: string; readonly form: Record<string, string> }[];
let lifetimeSeconds: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-exchange-'));
  [issued, lifetimeSeconds] = [[], 900];
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const answer = (status: number, json: object) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(json));
    if (request.url === '/auth/token/') {
      const form = Object.fromEntries(new URLSearchParams(body));
      if (form.subject_token !== 'header.payload.signature')
        return answer(400, { code: 'invalid_grant', detail: 'Not accepted.' });
      const token = `corral_${String(issued.length).padStart(43, 'x')}`;
      issued.push({ token, form });
      return answer(200, { access_token: token, token_type: 'Bearer', expires_in: lifetimeSeconds });
    }
    if (request.headers.authorization !== `Bearer ${issued.at(-1)?.token}`) {
      return answer(401, { code: 'authentication_required', detail: 'The token is not valid.' });
    }
    return answer(200, { items: [], next: null });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

const configPath = () => join(folder, 'config.yaml');
async function corral(...args: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await runCli(args, {
    env: { CORRAL_CONFIG: configPath() },
    stdin: Readable.from([]),
    out,
    err,
    signal: new AbortController().signal,
    outputClosed: new AbortController().signal,
    sleep: async () => undefined,
    openBrowser: async () => undefined,
  });
  return { code, err: String(err.read() ?? '') };
}
async function login(subjectToken = 'header.payload.signature') {
  const file = join(folder, 'id-token');
  await writeFile(file, `${subjectToken}\n`);
  const account = ['--team', 'acme', '--account', 'ci', '--subject-token-file', file];
  return corral('login', '--url', url, '--context', 'ci', '--exchange', ...account);
}

it('gets a token of a service account for the token in a file', async () => {
  expect((await login()).code).toBe(0);

  expect(issued.map(({ form }) => form)).toEqual([
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: 'acme/ci',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      subject_token: 'header.payload.signature',
    },
  ]);
  expect((await corral('clusters', 'list')).code).toBe(0);
  expect(issued).toHaveLength(1);
  expect(await readFile(configPath(), 'utf8')).not.toContain('header.payload');
});

it('gets another one shortly before it ends, and when it is not accepted any more', async () => {
  lifetimeSeconds = 20;
  await login();
  lifetimeSeconds = 900;

  expect((await corral('clusters', 'list')).code).toBe(0);
  expect((await corral('clusters', 'list')).code).toBe(0);
  expect(issued).toHaveLength(2);
  issued.push({ token: 'corral_of_somebody_else', form: {} });
  expect((await corral('clusters', 'list')).code).toBe(0);

  expect(issued).toHaveLength(4);
  expect(parse(await readFile(configPath(), 'utf8')).contexts.ci.token).toBe(issued.at(-1)?.token);
});

it('ends with 3 when the issuer or its token is not trusted, and quotes nothing of the token', async () => {
  const { code, err } = await login('another.token.value');

  expect([code, err]).toEqual([3, 'corral: Not accepted. (invalid_grant)\n']);
  expect((await login('with a space')).err).not.toContain('with a space');
});
