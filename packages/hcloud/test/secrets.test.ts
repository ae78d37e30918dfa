import { inspect } from 'node:util';
import { closedUrl, type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { aClient, anError, aToken, aWrite } from './a-client.js';

let upstream: RawServer | undefined;

afterEach(async () => {
  await upstream?.close();
  upstream = undefined;
});

const everything = (value: unknown) => inspect(value, { depth: 20, showHidden: true, maxStringLength: null });

describe('the token', () => {
  it.each([
    ['is refused', rawAnswer('401 Unauthorized', anError('unauthorized', `bad token ${aToken}`))],
    ['stands in an error code', rawAnswer('500 Oops', anError(aToken))],
    ['stands in a message for tenants', rawAnswer('422 No', anError('invalid_input', `odd header: Bearer ${aToken}`))],
    ['stands where a body should be', rawAnswer('200 OK', aToken)],
    ['stands in a broken answer', aToken],
  ])('appears in no error, no outcome and no log when it %s', async (_what, answer) => {
    upstream = await startRawServer((socket) => socket.end(answer));
    const { client, logged, calls } = aClient({ baseUrl: `${upstream.url}/v1` });

    const error: unknown = await client.readZone(7001).catch((reason: unknown) => reason);
    const outcome = await client.write(aWrite());

    expect(upstream.requests.join('')).toContain(aToken);
    expect(everything([error, (error as Error).stack, outcome, logged, calls])).not.toContain(aToken);
  });

  it('appears in no error when no connection can be made', async () => {
    const { client, logged } = aClient({ baseUrl: await closedUrl() });

    const error: unknown = await client.readZone(7001).catch((reason: unknown) => reason);
    const outcome = await client.write(aWrite());

    expect(everything([error, outcome, logged])).not.toContain(aToken);
  });

  it('does not appear when the client itself is printed', () => {
    const { client } = aClient();

    expect(everything(client)).not.toContain(aToken);
  });
});
