import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { clockOf } from '../src/doctor/checks.js';
import { exampleOf } from '../src/examples.js';
import { buildProgram } from '../src/run-cli.js';
import { type FakeService, runCorral, sendJson, startService } from './support/run-corral.js';

describe('`doctor`', () => {
  let service: FakeService;
  let status: { me: number; dns: number };
  beforeEach(async () => {
    status = { me: 200, dns: 200 };
    const teams = [{ slug: 'acme', role: 'member' }];
    const token = { name: 'ci', types: ['A'], names: ['acme'], zone: { name: 'example.test' } };
    service = await startService((request, _body, response) => {
      const isDns = request.url?.startsWith('/v1/') ?? false;
      if (isDns && status.dns !== 200)
        return sendJson(response, 401, { error: { code: 'unauthorized', message: 'No.' } });
      if (isDns) return sendJson(response, 200, { token });
      const code = request.headers.authorization === undefined ? 401 : status.me;
      if (code === 200) return sendJson(response, 200, { email: 'ann@acme.test', teams });
      sendJson(response, code, { status: code, code: 'authentication_required', title: 'No', detail: 'No.' });
    });
  });
  afterEach(() => service.close());
  const doctor = (more: NodeJS.ProcessEnv = {}, ...options: string[]) =>
    runCorral(['--team', 'acme', 'doctor', ...options], {
      env: {
        CORRAL_CONFIG: '/nonexistent/corral.yaml',
        CORRAL_URL: service.url,
        CORRAL_TOKEN: 'corral_token',
        CORRAL_DNS_URL: `${service.url}/v1`,
        CORRAL_DNS_TOKEN: 'dns-token-of-the-team',
        ...more,
      },
    });

  it('says what works, a line each', async () => {
    const { code, out } = await doctor();

    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.replace(/ {2,}/g, ' '))).toEqual([
      expect.stringMatching(/^ok address http:\S+ answers in \d+ ms\.$/),
      'unchecked certificate The address is without TLS.',
      expect.stringMatching(/^ok clock It differs by [01] s from that of the service\.$/),
      'ok token ann@acme.test is signed in, and is member of team acme.',
      'ok dns The token ci is accepted, and writes acme in example.test.',
      '',
    ]);
  });

  it('says what does not, and ends with the exit code of that', async () => {
    status = { me: 401, dns: 401 };
    const refused = await doctor({}, '-o', 'json');
    const states = JSON.parse(refused.out).map(({ check, state }: Record<string, string>) => `${check} ${state}`);
    expect([refused.code, ...states.slice(3)]).toEqual([3, 'token failed', 'dns failed']);

    const absent = await doctor({ CORRAL_URL: 'http://127.0.0.1:1', CORRAL_DNS_URL: `${service.url}/v1` });
    expect(absent.out).toMatch(/^failed +address +http:\/\/127\.0\.0\.1:1 does not answer: /);
  });

  it.each([
    [0, 'ok', 'It differs by 0 s'],
    [-30, 'ok', 'It differs by 30 s'],
    [90, 'warning', 'The clock of this machine is 90 s behind'],
    [-90, 'warning', 'The clock of this machine is 90 s ahead of'],
    [null, 'unchecked', 'The service did not say its time.'],
  ])('judges a clock of the service that is %s s ahead', (clockAheadSeconds, state, text) => {
    expect(clockOf({ clockAheadSeconds })).toEqual({ state, text: expect.stringContaining(text) });
  });
});

describe('help', () => {
  it.each<[line: string, shown: string]>([
    ['help', 'Usage: corral [options]'],
    ['help clusters', 'Usage: corral clusters [options]'],
    ['help dns set', 'Usage: corral dns set [options]'],
    ['help tokens dns create', 'Usage: corral tokens dns create [options]'],
  ])('`%s` is that of the command', async (line, shown) => {
    expect(await runCorral(line.split(' '))).toMatchObject({ code: 0, out: expect.stringContaining(shown) });
  });

  it.each<[line: string, meant: string]>([
    ['clustres list', 'Did you mean clusters?'],
    ['cluster', 'Did you mean clusters?'],
    ['clusters lst', 'Did you mean list?'],
    ['help dns sett', 'Did you mean set?'],
    ['clusters list --phaze Ready', 'Did you mean --phase?'],
  ])('after `%s` says which command may be meant', async (line, meant) => {
    expect(await runCorral(line.split(' '))).toMatchObject({ code: 2, out: '', err: expect.stringContaining(meant) });
  });
});

describe('the help of each command', () => {
  const discarded = { out: new PassThrough(), err: new PassThrough() };
  const program = () => buildProgram(discarded, () => async () => undefined);
  const leavesOf = (command: Command, path: readonly string[] = []): string[] =>
    command.commands.length === 0
      ? [path.join(' ')]
      : command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]));
  // `complete` is for the shells.
  const leaves = leavesOf(program()).filter((path) => path !== 'complete');

  it.each(leaves)('has an example that the command takes: %s', async (path) => {
    const example = exampleOf(path) ?? '';
    const words = [...(example.split(/ [<>] /)[0] ?? '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)];
    const argv = words.map(([, double, single, plain]) => double ?? single ?? plain ?? '');

    expect(example).not.toBe('');
    // The action of `help` and of `completion` is their own.
    if (!['help', 'completion'].includes(path)) await program().parseAsync(argv, { from: 'user' });
  });
});
