import type { Socket } from 'node:net';
import { inspect } from 'node:util';
import { closedUrl, type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { GardenClient, GardenOptions } from '../src/index.js';
import { base64 } from './a-certificate.js';
import { aClient, aShoot, aShootName, aStatus, aToken } from './a-garden.js';

let garden: RawServer | undefined;

afterEach(async () => {
  await garden?.close();
  garden = undefined;
});

async function connectTo(onRequest: (socket: Socket) => void, overrides: Partial<GardenOptions> = {}) {
  garden = await startRawServer(onRequest);
  return { ...aClient(garden.url, overrides), garden };
}

const manifest = { metadata: aShootName, spec: {} };

const halfAnswer: [string, (socket: Socket) => void][] = [
  ['half of the announced body', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{"metadata"')],
  ['an array', (socket) => socket.write(rawAnswer('200 OK', '[]'))],
  ['no metadata', (socket) => socket.write(rawAnswer('200 OK', { spec: {} }))],
  ['extreme nesting', (socket) => socket.write(rawAnswer('200 OK', `{"a":${'['.repeat(100_000)}`))],
];

describe('a write', () => {
  it('without an answer is uncertain, and is not sent again', async () => {
    const { client, garden } = await connectTo((socket) => socket.resetAndDestroy());

    await expect(client.applyShoot(manifest)).rejects.toMatchObject({ kind: 'uncertain' });
    expect(garden.requests).toHaveLength(1);
  });

  it.each(halfAnswer)('answered by %s is unusable, and is not sent again', async (_what, fault) => {
    const { client, garden } = await connectTo(fault);

    await expect(client.applyShoot(manifest)).rejects.toMatchObject({ kind: 'unusable' });
    expect(garden.requests).toHaveLength(1);
  });

  it('whose answer never comes is uncertain after the timeout', async () => {
    // A slow machine can connect and send in this time.
    const { client } = await connectTo(() => {}, { timeoutMs: 1_500 });

    await expect(client.applyShoot(manifest)).rejects.toMatchObject({
      kind: 'uncertain',
      message: 'uncertain: apply shoots: no answer in time',
    });
  });

  it('is unreachable when nothing listens, and is tried once', async () => {
    const { client, calls } = aClient(await closedUrl());

    await expect(client.applyShoot(manifest)).rejects.toMatchObject({
      kind: 'unreachable',
      message: 'unreachable: apply shoots: no connection (ECONNREFUSED)',
    });
    expect(calls).toHaveLength(1);
  });

  it('is aborted immediately by its signal: uncertain if it was sent, otherwise unreachable', async () => {
    const giveUp = new AbortController();
    const { client, garden } = await connectTo(() => giveUp.abort());

    await expect(client.applyShoot(manifest, giveUp.signal)).rejects.toMatchObject({
      message: 'uncertain: apply shoots: the caller gave up',
    });
    await expect(client.applyShoot(manifest, giveUp.signal)).rejects.toMatchObject({
      message: 'unreachable: apply shoots: the caller gave up',
    });
    expect(garden.requests).toHaveLength(1);
  });
});

describe('creating a kubeconfig', () => {
  const request = { ...aShootName, expirationSeconds: 600 };
  const refusal = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Invalid', code: 422, message: 'no' };

  it('is uncertain when an answer was lost, whatever later attempts returned', async () => {
    const { client, garden } = await connectTo((socket) => {
      if (garden.requests.length === 1) socket.resetAndDestroy();
      else socket.write(rawAnswer('422 Unprocessable Entity', refusal));
    });

    await expect(client.adminKubeconfig(request)).rejects.toMatchObject({ kind: 'uncertain' });
    expect(garden.requests.length).toBeGreaterThan(1);
  });
});

describe('a read', () => {
  it('without an answer is repeated', async () => {
    const { client, garden } = await connectTo((socket) => {
      if (garden.requests.length < 3) socket.resetAndDestroy();
      else socket.write(rawAnswer('200 OK', aShoot()));
    });

    expect(await client.readShoot(aShootName)).not.toBeNull();
  });

  it.each(halfAnswer)('answered by %s is unusable, of one Shoot and of a list', async (_what, fault) => {
    const { client } = await connectTo(fault);

    await expect(client.readShoot(aShootName)).rejects.toMatchObject({ kind: 'unusable' });
    await expect(client.listShoots({ labelSelector: 'a' })).rejects.toMatchObject({ kind: 'unusable' });
  });
});

describe('secrets', () => {
  const everything = (value: unknown) => inspect(value, { depth: 20, showHidden: true, maxStringLength: null });
  const failureOf = (call: Promise<unknown>): Promise<Error> =>
    call.then(
      () => new Error('it succeeded'),
      (error: Error) => error,
    );

  const providerToken = 'pRoViDeR0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST';
  const encoded = base64(providerToken);
  const kubeconfig = 'apiVersion: v1\nkind: Config\nclusters: []\nusers: [{user: {client-key-data: pRiVaTeKeY}}]\n';
  // The decoders of Kubernetes quote input that they cannot parse.
  const quoting = `json: cannot unmarshal, error found in #10 byte of ...|Token":"${encoded}"|..., bigger context ...|${providerToken}|`;
  const quotingCause = { causes: [{ field: `data[${encoded}]`, message: quoting }] };

  const read = (client: GardenClient) => client.readShoot(aShootName);
  const write = (client: GardenClient) => client.applyShoot(manifest);
  const applyCredentials = (client: GardenClient) =>
    client.applyCredentials({ namespace: 'garden-x', name: 'conn-1', token: providerToken, labels: {} });
  const makeKubeconfig = (client: GardenClient) => client.adminKubeconfig({ ...aShootName, expirationSeconds: 600 });

  const ofUs: [string, string][] = [
    ['our own token when it is refused', rawAnswer('401 No', aStatus(401, 'Unauthorized', `bad token ${aToken}`))],
    ['our own token in a reason', rawAnswer('500 Oops', aStatus(500, aToken, 'words'))],
    ['our own token in a message', rawAnswer('403 No', aStatus(403, 'Forbidden', `odd header: Bearer ${aToken}`))],
    [
      'our own token in a field',
      rawAnswer('422 No', aStatus(422, 'Invalid', 'no', { causes: [{ field: aToken, message: aToken }] })),
    ],
    ['our own token instead of a body', rawAnswer('200 OK', aToken)],
    ['our own token instead of an answer', aToken],
  ];
  const ofProviders: [string, string][] = [
    ['the token of a provider after 400', rawAnswer('400 Bad Request', aStatus(400, 'BadRequest', quoting))],
    ['the token of a provider after 422', rawAnswer('422 No', aStatus(422, 'Invalid', quoting, quotingCause))],
    ['the token of a provider after 500', rawAnswer('500 Oops', aStatus(500, 'InternalError', quoting))],
    [
      'the token of a provider after a refusal by a policy',
      rawAnswer('403 No', aStatus(403, 'Forbidden', `admission webhook "a" denied the request: ${quoting}`)),
    ],
    ['the token of a provider after 409', rawAnswer('409 Conflict', aStatus(409, 'Conflict', quoting))],
    ['the token of a provider in half an answer', rawAnswer('200 OK', `{"data": {"hcloudToken": "${encoded}"`)],
  ];
  const ofShoots: [string, string][] = [
    ['a kubeconfig without expiry', rawAnswer('201 Created', { status: { kubeconfig: base64(kubeconfig) } })],
    ['half a kubeconfig', rawAnswer('201 Created', `{"status": {"kubeconfig": "${base64(kubeconfig)}`)],
  ];

  it.each([
    ...ofUs.map((row) => [...row, [read, write], [aToken]] as const),
    ...ofProviders.map((row) => [...row, [applyCredentials], [providerToken, encoded]] as const),
    ...ofShoots.map((row) => [...row, [makeKubeconfig], ['pRiVaTeKeY', base64(kubeconfig).slice(0, 20)]] as const),
  ])('no error and no log has %s', async (_what, answer, calls, hidden) => {
    garden = await startRawServer((socket) => socket.end(answer));
    const test = aClient(garden.url);

    for (const call of calls) {
      const error = await failureOf(call(test.client));

      expect(error.name).toBe('GardenError');
      const said = everything([error, error.stack, test.logged, test.calls]);
      for (const secret of hidden) expect(said).not.toContain(secret);
    }
  });

  it('has no token of ours when the client itself is printed', () => {
    expect(everything(aClient().client)).not.toContain(aToken);
  });
});
