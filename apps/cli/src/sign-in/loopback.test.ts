import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Loopback, listenForCode } from './loopback.js';

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

describe('a sign-in that waits for its browser', () => {
  it.each([
    ['GET // HTTP/1.1', 404],
    ['GET //callback HTTP/1.1', 404],
    ['GET http://[ HTTP/1.1', 404],
    ['GET /favicon.ico HTTP/1.1', 404],
    [`GET /callback/?state=${STATE}&code=abc HTTP/1.1`, 404],
    [`GET /x/../callback?state=${STATE}&code=abc HTTP/1.1`, 404],
    ['GET /callback HTTP/1.1', 400],
    ['GET /callback?state=guessed&code=abc HTTP/1.1', 400],
    [`GET /callback?state=${STATE} HTTP/1.1`, 400],
    [`GET /callback?state=${STATE}&code= HTTP/1.1`, 400],
    [`GET /callback?state=${STATE}&code=abc&code=def HTTP/1.1`, 400],
    [`GET /callback?state=guessed&state=${STATE}&code=abc HTTP/1.1`, 400],
    [`GET /callback?state=${STATE}&code=abc&error=access_denied HTTP/1.1`, 400],
    [`POST /callback?state=${STATE}&code=abc HTTP/1.1`, 405],
    [`HEAD /callback?state=${STATE}&code=abc HTTP/1.1`, 405],
    ['OPTIONS * HTTP/1.1', 404],
    ['no HTTP at all', 400],
  ])('answers %s with %d, waits on, and takes the right one', async (requestLine, status) => {
    expect(await send(requestLine)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));

    expect(await send(RIGHT)).toMatch(/^HTTP\/1.1 200 /);
    expect(await loopback.code).toBe('abc');
  });

  it('waits on after CONNECT and an unknown expectation', async () => {
    await send('CONNECT example.org:443 HTTP/1.1');
    await send(RIGHT.replace('abc', 'expected'), 'Expect: 200-ok\r\n');

    expect(await send(RIGHT)).toMatch(/^HTTP\/1.1 200 /);
    expect(await loopback.code).toBe('abc');
  });

  it('says which method the page of its answer takes', async () => {
    expect(await send('DELETE /callback HTTP/1.1')).toMatch(/\r\nAllow: GET\r\n/);
  });

  it('ends when the person has not allowed it', async () => {
    const code = expect(loopback.code).rejects.toMatchObject({
      message: 'The sign-in was not allowed in the browser.',
    });

    await send(`GET /callback?state=${STATE}&error=access_denied HTTP/1.1`);
    await code;
  });
});
