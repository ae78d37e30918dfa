import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { aClient, aServer, aShootName, aStatus } from './a-garden.js';

const path = '/apis/core.gardener.cloud/v1beta1/namespaces/garden-t1234567/shoots/c1234567';

beforeAll(() => nock.disableNetConnect());
afterEach(() => {
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
});
afterAll(() => nock.restore());

describe('a kubeconfig', () => {
  const kubeconfig = 'apiVersion: v1\nkind: Config\nclusters: []\n';
  const expirationTimestamp = '2026-08-01T11:00:00Z';
  const request = { ...aShootName, expirationSeconds: 3_600 };

  it('is decoded and has the expiry that the garden granted', async () => {
    nock(aServer, { reqheaders: { 'content-type': 'application/json' } })
      .post(`${path}/adminkubeconfig`, {
        apiVersion: 'authentication.gardener.cloud/v1alpha1',
        kind: 'AdminKubeconfigRequest',
        spec: { expirationSeconds: 3_600 },
      })
      .reply(201, { status: { kubeconfig: Buffer.from(kubeconfig).toString('base64'), expirationTimestamp } });

    expect(await aClient().client.adminKubeconfig(request)).toEqual({
      kubeconfig,
      expiresAt: new Date(expirationTimestamp),
    });
  });

  it.each([
    ['no status', {}],
    ['no expiry', { status: { kubeconfig: Buffer.from(kubeconfig).toString('base64') } }],
    ['something else', { status: { kubeconfig: Buffer.from('hello').toString('base64'), expirationTimestamp } }],
    ['nothing', { status: { kubeconfig: '', expirationTimestamp } }],
  ])('is unusable when the answer contains %s', async (_what, body) => {
    nock(aServer).post(`${path}/adminkubeconfig`).reply(201, body);

    await expect(aClient().client.adminKubeconfig(request)).rejects.toMatchObject({ kind: 'unusable' });
  });

  it('is refused while the control plane has no address', async () => {
    const message =
      'AdminKubeconfigRequest.authentication.gardener.cloud "c1234567" is invalid: status.status: Invalid value: null: no suitable advertised address';
    nock(aServer)
      .post(`${path}/adminkubeconfig`)
      .reply(422, aStatus(422, 'Invalid', message));

    await expect(aClient().client.adminKubeconfig(request)).rejects.toMatchObject({ kind: 'refused' });
  });

  it('is requested again when the garden failed: nothing is stored', async () => {
    nock(aServer).post(`${path}/adminkubeconfig`).reply(503, 'no');
    nock(aServer)
      .post(`${path}/adminkubeconfig`)
      .reply(201, { status: { kubeconfig: Buffer.from(kubeconfig).toString('base64'), expirationTimestamp } });

    expect((await aClient().client.adminKubeconfig(request)).kubeconfig).toBe(kubeconfig);
  });
});
