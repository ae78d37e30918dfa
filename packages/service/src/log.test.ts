import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLog } from './log.js';

const token = `${'aB3'.repeat(21)}x`;

function capture() {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, next) {
      text += String(chunk);
      next();
    },
  });
  const log = createLog({ service: 'test', destination });
  const lines = async (): Promise<Record<string, unknown>[]> => {
    await log.flush();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  };
  return { log, lines, line: async () => (await lines())[0] ?? {} };
}

describe('createLog', () => {
  it('writes one line of JSON with time, level, service, message and fields', async () => {
    const { log, line } = capture();

    log.debug('below its level');
    log.child({ clusterId: 'c1' }).info('pass done', { ms: 12, error: undefined });

    expect(await line()).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      level: 'info',
      service: 'test',
      message: 'pass done',
      clusterId: 'c1',
      ms: 12,
    });
  });

  it('lets no field overwrite time, level, service or message', async () => {
    const { log, line } = capture();

    log.info('true', { message: 'forged', level: 'debug', exception: true });

    expect(await line()).toMatchObject({
      message: 'true',
      level: 'info',
      field_message: 'forged',
      field_level: 'debug',
      field_exception: true,
    });
  });

  it('writes no cause that is no error, because clients put requests and answers there', async () => {
    const { log, line } = capture();
    const cause = { body: { code: 'of-a-sign-in' }, parameters: new URLSearchParams({ code: 'of-a-sign-in' }) };

    log.error('failed', { error: new Error('refused', { cause }) });

    expect(await line()).toMatchObject({ error: { message: 'refused' } });
    expect(JSON.stringify(await line())).not.toContain('of-a-sign-in');
  });

  it('writes errors with message, stack and the whole chain of causes', async () => {
    const { log, line } = capture();
    const root = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });

    log.error('failed', { error: new Error('no list', { cause: new Error('no answer', { cause: root }) }) });

    expect(await line()).toMatchObject({
      error: {
        message: 'no list',
        stack: expect.stringContaining('log.test'),
        cause: { message: 'no answer', cause: { message: 'connection refused', code: 'ECONNREFUSED' } },
      },
    });
  });

  it('survives cycles, throwing getters, big integers and deep nesting', async () => {
    const { log, line } = capture();
    const circle: Record<string, unknown> = { big: 10n };
    circle.self = circle;
    const bad = {
      get boom() {
        throw new Error('boom');
      },
    };
    const deep = Array.from({ length: 100 }).reduce<object>((inner) => ({ inner }), {});

    log.info('x', { circle, bad, deep, wide: Array.from({ length: 5000 }, () => ({})) });

    const written = await line();
    expect(written).toMatchObject({ circle: { big: '10', self: '[circular]' }, bad: '[unreadable]' });
    expect(JSON.stringify(written).length).toBeLessThan(5000);
  });

  it('drops and counts lines instead of filling the memory when the reader stalls', async () => {
    let release = () => {};
    let text = '';
    const destination = new Writable({
      write(chunk, _encoding, next) {
        text += String(chunk);
        release = next;
      },
    });
    const log = createLog({ service: 'test', destination });
    const long = 'x '.repeat(8_000);

    for (let line = 0; line < 2_000; line += 1) log.info('long', { long });
    const heldBytes = destination.writableLength;
    destination._write = (chunk, _encoding, next) => {
      text += String(chunk);
      next();
    };
    release();
    await log.flush();
    log.info('after');
    await log.flush();

    expect(heldBytes).toBeLessThan(20_000_000);
    expect(text).toMatch(/"log lines dropped","lines":\d{3,}\}/);
    expect(text).toContain('"after"');
  });
});

describe('redaction', () => {
  it.each([
    'authorization',
    'token',
    'api_token',
    'password',
    'clientSecret',
    'cookie',
    'sessionid',
    'kubeconfig',
    'user_data',
    'x-api-key',
    'privateKey',
    'DATABASE_URL',
  ])('hides the value of a field named %s, at any depth', async (name) => {
    const { log, line } = capture();

    log.info('x', { [name]: 'visible', request: { headers: [{ [name]: { value: 'visible' } }] } });

    expect(JSON.stringify(await line())).not.toContain('visible');
  });

  it.each([
    ['a bearer token', 'sent Authorization: Bearer abc.def-ghi'],
    ['basic credentials', 'Basic dXNlcjpwYXNz was refused'],
    ['a token of 64 characters', `the token ${token} is unknown`],
    ['the password in an address', 'cannot reach postgres://corral:abc.def-ghi@db/corral'],
  ])('removes %s from a text, a message and an error', async (_what, text) => {
    const { log, line } = capture();

    log.info(text, { text, error: new Error(text, { cause: new Error(text) }) });

    const written = JSON.stringify(await line());
    expect(written).toContain('[redacted]');
    expect(written).not.toMatch(/abc\.def-ghi|dXNlcjpwYXNz|aB3aB3/);
  });

  it('keeps ids, digests, names of tokens and counts', async () => {
    const { log, line } = capture();
    const fields = {
      tokenId: 'tok_1',
      requestId: '0b3c1e0e-2f0b-4c60-9b0c-0a8a1b2c3d4e',
      desiredHash: `sha256:${'ab'.repeat(32)}`,
      tokens: 3,
      url: 'https://corral.example/a@b',
    };

    log.info('x', fields);

    expect(await line()).toMatchObject(fields);
  });

  it('removes a 64-character token at any position', async () => {
    const { log, lines } = capture();
    const noise = fc.string().map((text) => text.replaceAll(/[A-Za-z0-9]$|^[A-Za-z0-9]/g, ''));
    fc.assert(
      fc.property(noise, noise, (before, after) => {
        fc.pre(!before.endsWith('sha256:'));
        log.info('x', { a: [`${before} ${token} ${after}`] });
      }),
    );

    expect(JSON.stringify(await lines())).not.toContain(token);
  });
});
