import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { parseConfig, readConfig, writeConfig } from '../src/settings/config-file.js';
import { addressOf, clusterAccess, dnsAccess, type Given } from '../src/settings/settings.js';
import { hasScreen } from '../src/sign-in/browser-sign-in.js';
import { type Loopback, listenForCode } from '../src/sign-in/loopback.js';
import {
  type FakeService,
  type Folder,
  runCorral,
  sendJson,
  startService,
  temporaryFolder,
} from './support/run-corral.js';

let folder: Folder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

const written = {
  currentContext: 'prod',
  contexts: { prod: { url: 'https://c.example', team: 'acme', token: 'corral_x' } },
};
const warnings: string[] = [];
const read = (path: string) => readConfig(path, (text) => void warnings.push(text));

describe('the configuration file', () => {
  it('is read as it was written, by its owner only, and nothing else is left in its folder', async () => {
    const path = folder.file('corral/config.yaml');

    await writeConfig(path, written);
    await writeConfig(path, written);

    expect(await read(path)).toEqual(written);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(folder.file('corral'))).mode & 0o777).toBe(0o700);
    expect(await readdir(folder.file('corral'))).toEqual(['config.yaml']);
  });

  it('brings a warning when others can read it', async () => {
    const path = folder.file('config.yaml');
    await writeFile(path, 'currentContext: null\n', { mode: 0o644 });

    await read(path);

    expect(warnings.at(-1)).toContain(`chmod 600 ${path}`);
  });

  it.each([
    ['no YAML', 'contexts: [', 'no valid YAML'],
    ['a list', '- a', 'has to be an object'],
    ['contexts as a list', 'contexts: [a]', 'contexts has to be an object'],
    ['a token that is a number', 'contexts: {a: {token: 12345678}}', 'contexts.a.token has to be a text'],
    ['aliases', 'contexts: {a: &a {url: x}, b: *a}', 'no valid YAML'],
  ])('is refused with %s, and the message quotes no value', (_what, text, message) => {
    expect(() => parseConfig(text, 'the file')).toThrow(message);
    expect(() => parseConfig(text, 'the file')).not.toThrow('12345678');
  });
});

const config = {
  currentContext: 'prod',
  contexts: {
    prod: {
      url: 'https://c.example',
      team: 'acme',
      session: 'session-of-ann',
      dnsUrl: 'https://d.example/v1',
      dnsToken: 'dns-token',
    },
    ci: { url: 'https://c.example', token: 'corral_token' },
  },
};
const given = (env: NodeJS.ProcessEnv = {}, more: Partial<Given> = {}): Given => ({ env, config, ...more });

describe('where commands go', () => {
  it('is the current context, and with --context or CORRAL_CONTEXT another one', () => {
    const prod = { url: 'https://c.example', credentials: { session: 'session-of-ann' }, team: 'acme' };
    const ci = { url: 'https://c.example', credentials: { bearer: 'corral_token' }, team: null };

    expect(clusterAccess(given())).toEqual(prod);
    expect(clusterAccess(given({}, { context: 'ci' }))).toEqual(ci);
    expect(clusterAccess(given({ CORRAL_CONTEXT: 'ci' }))).toEqual(ci);
    expect(clusterAccess(given({ CORRAL_CONTEXT: 'ci' }, { context: 'prod', team: 'globex' }))).toEqual({
      ...prod,
      team: 'globex',
    });
    expect(() => clusterAccess(given({}, { context: 'toString' }))).toThrow('There is no context toString.');
  });

  it('is what environment variables say, even if the context says otherwise', () => {
    const env = { CORRAL_URL: 'https://other.example/', CORRAL_TOKEN: 'corral_other', CORRAL_TEAM: 'globex' };

    expect(clusterAccess(given(env))).toEqual({
      url: 'https://other.example',
      credentials: { bearer: 'corral_other' },
      team: 'globex',
    });
    expect(dnsAccess(given({ CORRAL_DNS_TOKEN: 'another-token' }))).toEqual({
      url: 'https://d.example/v1',
      token: 'another-token',
    });
  });

  it('never takes the token of a context to another address', () => {
    expect(() => clusterAccess(given({ CORRAL_URL: 'https://evil.example' }))).toThrow(
      'There is no token for https://evil.example.',
    );
    expect(() => dnsAccess(given({ CORRAL_DNS_URL: 'https://evil.example/v1' }))).toThrow('There is no DNS token for');
  });

  it('needs an address', () => {
    const nowhere = { env: {}, config: { currentContext: null, contexts: {} } };

    expect(() => clusterAccess(nowhere)).toThrow('You are not signed in.');
    expect(dnsAccess(nowhere)).toBeNull();
    expect(() => dnsAccess({ ...nowhere, env: { CORRAL_DNS_TOKEN: 'dns-token' } })).toThrow(
      'CORRAL_DNS_TOKEN needs CORRAL_DNS_URL',
    );
  });
});

describe('a token', () => {
  it.each(['has space in', 'line\nbreak-in-it', 'ünïcode-token', 'short'])(
    'such as %j is refused, and not quoted',
    (token) => {
      const env = { CORRAL_URL: 'https://c.example', CORRAL_TOKEN: token };

      expect(() => clusterAccess(given(env))).toThrow('The token has characters that no token has');
      expect(() => clusterAccess(given(env))).not.toThrow(token);
    },
  );

  it.each([
    ['http://c.example', 'must begin with https://'],
    ['ftp://c.example', 'must begin with https://'],
    ['c.example', 'is no address'],
    ['https://user:pass@c.example', 'has parts that are no address'],
    ['https://c.example/?a=b', 'has parts that are no address'],
  ])('is not sent to %s', (url, message) => {
    expect(() => addressOf(url, 'CORRAL_URL', {})).toThrow(message);
  });

  it('is sent without TLS on this machine, or where that is permitted', () => {
    expect(addressOf('http://127.0.0.1:3000/', 'it', {})).toBe('http://127.0.0.1:3000');
    expect(addressOf('http://[::1]:3000/v1/', 'it', {})).toBe('http://[::1]:3000/v1');
    expect(addressOf('http://c.example', 'it', { CORRAL_ALLOW_HTTP: 'true' })).toBe('http://c.example');
  });
});

describe('a sign-in that waits for its browser', () => {
  const STATE = 'only-the-page-knows-it';
  const RIGHT = `GET /callback?state=${STATE}&code=abc HTTP/1.1`;

  let loopback: Loopback;
  let port: number;
  beforeEach(async () => {
    loopback = await listenForCode(STATE, new AbortController().signal);
    port = Number(new URL(loopback.redirectUri).port);
  });
  afterEach(() => loopback.close());

  /** @returns the status line and the headers of the answer */
  async function send(requestLine: string, more = ''): Promise<string> {
    const socket = connect({ host: '127.0.0.1', port }).setEncoding('latin1');
    let answer = '';
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.write(`${requestLine}\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n${more}\r\n`);
    await once(socket, 'close');
    return answer.split('\r\n\r\n')[0] ?? '';
  }

  it.each([
    ['GET // HTTP/1.1', 404],
    ['GET //callback HTTP/1.1', 404],
    [`GET /callback/?state=${STATE}&code=abc HTTP/1.1`, 404],
    [`GET /x/../callback?state=${STATE}&code=abc HTTP/1.1`, 404],
    ['GET /callback HTTP/1.1', 400],
    ['GET /callback?state=guessed&code=abc HTTP/1.1', 400],
    [`GET /callback?state=${STATE} HTTP/1.1`, 400],
    [`GET /callback?state=${STATE}&code=abc&code=def HTTP/1.1`, 400],
    [`GET /callback?state=guessed&state=${STATE}&code=abc HTTP/1.1`, 400],
    [`GET /callback?state=${STATE}&code=abc&error=access_denied HTTP/1.1`, 400],
    [`POST /callback?state=${STATE}&code=abc HTTP/1.1`, 405],
    ['no HTTP at all', 400],
  ])('answers %s with %d, waits on, and takes the right one', async (requestLine, status) => {
    expect(await send(requestLine)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));

    expect(await send(RIGHT)).toMatch(/^HTTP\/1.1 200 /);
    expect(await loopback.code).toBe('abc');
  });

  it('ends when the person has not allowed it', async () => {
    const code = expect(loopback.code).rejects.toMatchObject({
      message: 'The sign-in was not allowed in the browser.',
    });

    await send(`GET /callback?state=${STATE}&error=access_denied HTTP/1.1`);
    await code;
  });
});

describe('a machine without a browser', () => {
  /* The endpoints are as RFC 8628 describes them. */

  let service: FakeService;
  /** What polls are answered, the last one again and again. */
  let polls: readonly (string | number)[];
  let polled: number;
  beforeEach(async () => {
    polled = 0;
    service = await startService((request, _body, response) => {
      if (request.url === '/auth/device/') {
        const page = 'https://c.example/console/device';
        const uris = { verification_uri: page, verification_uri_complete: `${page}?user_code=BCDF-GHJK` };
        const codes = { device_code: 'secret-of-the-machine', user_code: 'BCDF-GHJK' };
        return sendJson(response, 200, { ...codes, ...uris, expires_in: 600, interval: 5 });
      }
      if (request.url === '/auth/token/') {
        const answer = polls[Math.min(polled, polls.length - 1)] as string | number;
        polled += 1;
        if (answer === 200) {
          return sendJson(response, 200, { access_token: 'of-ann', token_type: 'Cookie', expires_in: 600 });
        }
        return typeof answer === 'number'
          ? sendJson(response, answer, {})
          : sendJson(response, 400, { code: 'invalid_grant', detail: 'No.', error: answer });
      }
      return sendJson(response, 200, { email: 'ann@acme.test', teams: [{ slug: 'acme', role: 'member' }] });
    });
  });
  afterEach(() => service.close());
  const login = (...options: string[]) =>
    runCorral(['login', '--url', service.url, '--device', ...options], {
      env: { CORRAL_CONFIG: folder.file('config.yaml') },
    });

  it('shows a page and a code, and waits through delays and failures until somebody has allowed it', async () => {
    polls = ['authorization_pending', 'slow_down', 503, 429, 200];

    const { code, out, err } = await login();

    expect([code, polled, out]).toEqual([0, 5, expect.stringContaining('team acme')]);
    expect(err).toContain('https://c.example/console/device');
    expect(err).toContain('BCDF-GHJK');
    expect(err).not.toContain('secret-of-the-machine');
    expect(await readFile(folder.file('config.yaml'), 'utf8')).toContain('session: of-ann');
  });

  it('shows its requests if it is asked to, without what is secret', async () => {
    polls = [200];
    const { err } = await login('--verbose');

    expect(err).toMatch(/^POST http:\S+\/auth\/device\/: 200, /m);
    expect(err).toMatch(/^POST http:\S+\/auth\/token\/: 200, /m);
    expect(err).not.toMatch(/secret-of-the-machine|of-ann/);
  });

  it.each<[string, number, string]>([
    ['access_denied', 1, 'was not allowed'],
    ['expired_token', 6, 'in time'],
    ['invalid_grant', 3, 'No.'],
    ['authorization_pending', 6, 'in time'],
  ])('ends when it is told %s again and again, with the exit code %d', async (error, exit, text) => {
    polls = [error];

    expect(await login()).toMatchObject({ code: exit, err: expect.stringContaining(text) });
  });
});

it.each<[boolean, NodeJS.ProcessEnv, NodeJS.Platform]>([
  [true, { DISPLAY: ':0' }, 'linux'],
  [true, { WAYLAND_DISPLAY: 'wayland-0' }, 'linux'],
  [true, { BROWSER: '/vscode/browser.sh' }, 'linux'],
  [true, { WSL_DISTRO_NAME: 'Debian' }, 'linux'],
  [false, { DISPLAY: '' }, 'linux'],
  [false, {}, 'linux'],
  [true, {}, 'darwin'],
  [true, {}, 'win32'],
])('the command, where a browser can be seen is %s, knows it from %j on %s', (is, env, system) => {
  expect(hasScreen(env, system)).toBe(is);
});

describe('a pipeline that has a token of its own issuer', () => {
  /* The endpoint is as RFC 8693 describes it. */

  let service: FakeService;
  /** Tokens that were issued, the newest of which is valid. */
  let issued: { readonly token: string; readonly form: Record<string, string> }[];
  let lifetimeSeconds: number;

  beforeEach(async () => {
    [issued, lifetimeSeconds] = [[], 900];
    service = await startService((request, body, response) => {
      const answer = (status: number, json: object) => sendJson(response, status, json);
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
  });
  afterEach(() => service.close());

  const configPath = () => folder.file('config.yaml');
  const corral = (...args: string[]) => runCorral(args, { env: { CORRAL_CONFIG: configPath() } });
  async function login(subjectToken = 'header.payload.signature') {
    const file = folder.file('id-token');
    await writeFile(file, `${subjectToken}\n`);
    const account = ['--team', 'acme', '--account', 'ci', '--subject-token-file', file];
    return corral('login', '--url', service.url, '--context', 'ci', '--exchange', ...account);
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
    // Only the newest token is valid: this ends the command's.
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
});
