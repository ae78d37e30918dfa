import { inspect } from 'node:util';
import { closedUrl, type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { aClient, aKubeconfig, aShootName, aStatus, aToken } from './a-garden.js';

let garden: RawServer | undefined;

afterEach(async () => {
  await garden?.close();
  garden = undefined;
});

const everything = (value: unknown) => inspect(value, { depth: 20, showHidden: true, maxStringLength: null });
const failureOf = (call: Promise<unknown>): Promise<Error> =>
  call.then(
    () => new Error('it succeeded'),
    (error: Error) => error,
  );

const providerToken = 'pRoViDeR0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST';
const encoded = Buffer.from(providerToken).toString('base64');
const kubeconfig = 'apiVersion: v1\nkind: Config\nclusters: []\nusers: [{user: {client-key-data: pRiVaTeKeY}}]\n';
const credentials = { namespace: 'garden-x', name: 'conn-1', token: providerToken, labels: {} };

describe('our own token', () => {
  it.each([
    ['is refused', rawAnswer('401 Unauthorized', aStatus(401, 'Unauthorized', `bad token ${aToken}`))],
    ['stands in a reason', rawAnswer('500 Oops', aStatus(500, aToken, 'words'))],
    ['stands in a message', rawAnswer('403 No', aStatus(403, 'Forbidden', `odd header: Bearer ${aToken}`))],
    [
      'stands in a field',
      rawAnswer('422 No', aStatus(422, 'Invalid', 'no', { causes: [{ field: aToken, message: aToken }] })),
    ],
    ['stands where a body should be', rawAnswer('200 OK', aToken)],
    ['stands in a broken answer', aToken],
  ])('appears in no error and no log when it %s', async (_what, answer) => {
    garden = await startRawServer((socket) => socket.end(answer));
    const { client, logged, calls } = aClient(garden.url);

    const ofRead = await failureOf(client.readShoot(aShootName));
    const ofWrite = await failureOf(client.applyShoot({ metadata: aShootName, spec: {} }));

    expect(garden.requests.join('')).toContain(aToken);
    expect(ofRead.name).toBe('GardenError');
    expect(everything([ofRead, ofRead.stack, ofWrite, ofWrite.stack, logged, calls])).not.toContain(aToken);
  });

  it('appears in no error when no connection can be made', async () => {
    const { client, logged } = aClient(await closedUrl());

    const error = await failureOf(client.readShoot(aShootName));

    expect(everything([error, logged])).not.toContain(aToken);
  });

  it('does not appear when the client itself is printed', () => {
    const { client } = aClient();

    expect(everything(client)).not.toContain(aToken);
  });

  it('does not appear in the logs of a watch', async () => {
    garden = await startRawServer((socket) => socket.end(aToken));
    const { client, logged } = aClient(garden.url);
    const stop = new AbortController();

    await client.watchShoots({
      labelSelector: 'a',
      onPage: () => {},
      onListed: () => {},
      onEvents: () => {},
      signal: stop.signal,
      relistEveryMs: 1_000,
      onState: ({ phase }) => phase === 'waiting' && setImmediate(() => stop.abort()),
    });

    expect(logged.join()).toContain('watch of shoots interrupted');
    expect(logged.join()).not.toContain(aToken);
  });
});

describe('the token of a provider', () => {
  // The decoders of Kubernetes quote input that they cannot parse.
  const quoting = `json: cannot unmarshal, error found in #10 byte of ...|Token":"${encoded}"|..., bigger context ...|${providerToken}|`;

  it.each([
    ['400', rawAnswer('400 Bad Request', aStatus(400, 'BadRequest', quoting))],
    [
      '422',
      rawAnswer(
        '422 No',
        aStatus(422, 'Invalid', quoting, { causes: [{ field: `data[${encoded}]`, message: quoting }] }),
      ),
    ],
    ['500', rawAnswer('500 Oops', aStatus(500, 'InternalError', quoting))],
    [
      'a policy',
      rawAnswer('403 No', aStatus(403, 'Forbidden', `admission webhook "a" denied the request: ${quoting}`)),
    ],
    ['409', rawAnswer('409 Conflict', aStatus(409, 'Conflict', quoting))],
    ['half an answer', rawAnswer('200 OK', `{"data": {"hcloudToken": "${encoded}"`)],
  ])('appears in no error and no log when the garden answers its Secret with %s', async (_what, answer) => {
    garden = await startRawServer((socket) => socket.end(answer));
    const { client, logged } = aClient(garden.url);

    const error = await failureOf(client.applyCredentials(credentials));

    expect(garden.requests.join('')).toContain(encoded);
    expect(error.name).toBe('GardenError');
    const said = everything([error, error.stack, logged]);
    expect(said).not.toContain(providerToken);
    expect(said).not.toContain(encoded);
  });
});

describe('a kubeconfig', () => {
  it.each([
    ['without expiry', { status: { kubeconfig: Buffer.from(kubeconfig).toString('base64') } }],
    ['truncated', `{"status": {"kubeconfig": "${Buffer.from(kubeconfig).toString('base64')}`],
  ])('appears in no error and no log when its answer is %s', async (_what, body) => {
    garden = await startRawServer((socket) => socket.end(rawAnswer('201 Created', body)));
    const { client, logged } = aClient(garden.url);

    const error = await failureOf(client.adminKubeconfig({ ...aShootName, expirationSeconds: 600 }));

    expect(error).toMatchObject({ kind: 'unusable' });
    const said = everything([error, error.stack, logged]);
    expect(said).not.toContain('pRiVaTeKeY');
    expect(said).not.toContain(Buffer.from(kubeconfig).toString('base64').slice(0, 20));
  });

  it('of ours that cannot be parsed is not quoted', () => {
    const spoilt = aKubeconfig('https://garden.test').replaceAll('}', '');

    const start = () => aClient('', { kubeconfigText: spoilt });

    expect(start).toThrow(Error);
    expect(start).not.toThrow(new RegExp(aToken));
  });
});
