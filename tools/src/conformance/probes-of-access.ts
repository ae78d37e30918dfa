import { reconcilerRights } from '@corral/garden';
import { waitFor } from '@corral/testing';
import { aShoot, endOf, type Probe, saidOf, shootPath } from './probe.js';
import { call, mergeType, must } from './rest.js';
import { connect } from './target.js';

/** Permissions, in the order in which the probes run. */
export const probesOfAccess: readonly Probe[] = [
  {
    name: 'allows a takeover of credentials from another manager',
    expected: 'conflict, 409, .data.hcloudToken of kubectl, then ok',
    async run({ target, garden, namespace, projectToken }) {
      const theirs = { data: { hcloudToken: Buffer.from('x'.repeat(64)).toString('base64') } };
      const path = `/api/v1/namespaces/${namespace}/secrets/conn?fieldManager=kubectl`;
      await must(target.admin, 'PATCH', path, theirs, mergeType);
      const declared = { namespace, name: 'conn', token: projectToken, labels: {} };
      const held = await endOf(garden.applyCredentials(declared));
      return `${held}, then ${await endOf(garden.applyCredentials({ ...declared, force: true }))}`;
    },
  },
  {
    name: 'refuses a Secret over a quota, and accepts it once the quota is lifted',
    expected: 'quota_exceeded, 403, then ok',
    async run({ target, garden, namespace, projectToken }) {
      const apply = () => endOf(garden.applyCredentials({ namespace, name: 'more', token: projectToken, labels: {} }));
      await target.limitSecrets(namespace, 1);
      const beyond = await apply();
      await target.limitSecrets(namespace, null);
      const lifted = await waitFor('the quota to be lifted', async () => {
        const end = await apply();
        if (end !== 'ok') throw new Error(end);
        return end;
      });
      await garden.deleteCredentials({ namespace, name: 'more' });
      return `${beyond}, then ${lifted}`;
    },
  },
  {
    name: 'allows each account what its manifest grants, and nothing else',
    expected: 'reconciler lists namespaces: 403; cluster-api reads a Shoot: ok; writes a Shoot: rbac, 403',
    async run({ target, namespace }) {
      const namespaces = await call(target.accounts.reconciler, 'GET', '/api/v1/namespaces');
      const clusterApi = connect(target.accounts['cluster-api']);
      const read = await endOf(clusterApi.readShoot({ namespace, name: 'make' }));
      const write = await endOf(clusterApi.applyShoot(aShoot(namespace, 'make')));
      await clusterApi.close();
      return `reconciler lists namespaces: ${namespaces.status}; cluster-api reads a Shoot: ${read}; writes a Shoot: ${write}`;
    },
  },
  {
    name: 'tells each account what it lacks',
    expected: 'reconciler: nothing; cluster-api: delete shoots.core.gardener.cloud',
    async run({ target }) {
      const clients = [target.accounts.reconciler, target.accounts['cluster-api']].map(connect);
      const deletion = { apiGroups: ['core.gardener.cloud'], resources: ['shoots'], verbs: ['delete'] };
      const [own, others] = await Promise.all([
        clients[0]?.missingRights(reconcilerRights),
        clients[1]?.missingRights([deletion]),
      ]);
      await Promise.all(clients.map((client) => client.close()));
      return `reconciler: ${own?.join(', ') || 'nothing'}; cluster-api: ${others?.join(', ')}`;
    },
  },
  {
    name: 'names the missing permission',
    expected:
      /^403 Forbidden: .* User "system:serviceaccount:garden:corral-cluster-api" cannot delete resource "shoots" in API group "core.gardener.cloud" in the namespace "…"$/,
    run: async ({ target, namespace }) =>
      saidOf(await call(target.accounts['cluster-api'], 'DELETE', shootPath(namespace, 'make'))).replace(
        namespace,
        '…',
      ),
  },
  {
    name: 'answers 401 to an unknown token',
    expected: 'credentials, 401',
    async run({ target, namespace }) {
      const stranger = connect({ ...target.admin, token: 'nobody-knows-it' });
      const end = await endOf(stranger.readShoot({ namespace, name: 'make' }));
      await stranger.close();
      return end;
    },
  },
  {
    name: 'names a caller without a token system:anonymous',
    expected: /^403 Forbidden: .*User "system:anonymous" cannot get resource "shoots"/,
    run: async ({ target, namespace }) =>
      saidOf(await call({ ...target.admin, token: null }, 'GET', shootPath(namespace, 'make'))).replace(namespace, '…'),
  },
];
