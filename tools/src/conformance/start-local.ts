import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, startProcess } from '@corral/testing';
import { expiredImage, OBSTACLE, POLICY_MESSAGE } from './obstacles.js';
import type { Caller } from './rest.js';
import type { Obstacle, Target } from './target.js';

/** Starts the local cloud as a process, with a garden that does in an instant what takes minutes elsewhere. */
export async function startLocal(repository: string, projectToken: string): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-conformance-local-'));
  const adminPort = await freePort();
  const cloud = await startProcess({
    command: process.execPath,
    args: [join(repository, 'tools', 'local-cloud', 'programs', 'main.js')],
    env: {
      LOCAL_CLOUD_ADMIN_PORT: String(adminPort),
      LOCAL_CLOUD_TOKENS: randomBytes(32).toString('hex'),
      LOCAL_CLOUD_PROJECT_TOKENS: projectToken,
      LOCAL_CLOUD_ZONES: 'conformance.test',
      LOCAL_CLOUD_DATA_DIR: folder,
      LOCAL_CLOUD_GARDEN_CREATE_MS: '20',
      LOCAL_CLOUD_GARDEN_RECONCILE_MS: '20',
      LOCAL_CLOUD_GARDEN_DELETE_MS: '20',
    },
    readyLine: '"event":"ready"',
  });
  const ask = async (method: string, path: string, body?: object): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${adminPort}/admin/garden${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  };
  const callerOf = (file: string): Caller => {
    const text = readFileSync(join(folder, file), 'utf8');
    const field = (name: string): string => new RegExp(`${name}: (\\S+)`).exec(text)?.[1] ?? '';
    const authority = Buffer.from(field('certificate-authority-data'), 'base64').toString();
    return { url: field('server'), authority, token: field('token') };
  };
  return {
    name: 'local cloud',
    hasControllers: true,
    admin: callerOf('garden.kubeconfig'),
    accounts: {
      reconciler: callerOf('garden-reconciler.kubeconfig'),
      'cluster-api': callerOf('garden-cluster-api.kubeconfig'),
    },
    settleProject: async () => undefined,
    limitSecrets: (_namespace, secretsMax) => ask('PATCH', '/settings', { secretsMax }),
    async obstruct(namespace, obstacle) {
      if (obstacle === 'expired image') await ask('POST', '/expiries', { image: expiredImage });
      const rules: Readonly<Record<Obstacle, readonly object[]>> = {
        policy: [{ name: OBSTACLE, kind: 'policy', namespace, when: '"maximum":9', message: POLICY_MESSAGE }],
        'dead webhook': [{ name: OBSTACLE, kind: 'dead webhook', namespace }],
        'expired image': [],
      };
      await ask('PATCH', '/settings', { admission: obstacle === null ? [] : rules[obstacle] });
    },
    async forgetManagers(path) {
      const [, namespace, name] = /namespaces\/([^/]+)\/shoots\/([^/]+)$/.exec(path) ?? [];
      await ask('DELETE', `/shoots/${namespace}/${name}/managers`);
    },
    expireHistory: () => ask('POST', '/watches/drop', { expireHistory: true }),
    restart: null,
    async stop() {
      await cloud.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
