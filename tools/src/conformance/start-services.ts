import { Agent } from 'node:http';
import { join } from 'node:path';
import { teamStore, userStore } from '@corral/auth';
import { connectPrisma, type Pool } from '@corral/database';
import { mustExchange } from '../rig/exchange.js';
import { startRig } from '../rig/rig.js';
import { CLOUD_TOKEN, services, startCloud } from '../rig/services.js';

const TEAM = 'life';

/** A cluster API and a reconciler on a garden, with a team that has a connection. */
export interface RunningServices {
  readonly pool: Pool;
  /** Sends a request below the path of the team. @throws Error unless it is answered 2xx */
  call(method: string, path: string, body?: object): Promise<void>;
  stop(): Promise<void>;
}

/** @param kubeconfigs paths, with one account for each service */
export async function startServices(kubeconfigs: {
  readonly clusterApi: string;
  readonly reconciler: string;
}): Promise<RunningServices> {
  const rig = await startRig();
  const agent = new Agent({ keepAlive: true });
  rig.onStop(async () => agent.destroy());
  try {
    const start = services(rig, await startCloud(rig, join(rig.folder, 'local-cloud')));
    const [api] = await Promise.all([
      start.clusterApi({ GARDEN_KUBECONFIG: kubeconfigs.clusterApi }),
      start.reconciler({ GARDEN_KUBECONFIG: kubeconfigs.reconciler }),
    ]);
    const cookie = await signIn(rig.databaseUrl, api.url);
    const call = async (method: string, path: string, body?: object): Promise<void> => {
      const url = `${api.url}/api/v1/teams/${TEAM}${path}`;
      await mustExchange({ url, method, headers: { cookie }, ...(body === undefined ? {} : { body }) }, agent);
    };
    await call('PUT', '/connections/main/', { spec: { provider: 'hcloud', token: CLOUD_TOKEN } });
    return { pool: rig.pool, call, stop: rig.stop };
  } catch (error) {
    await rig.stop();
    throw error;
  }
}

/** Creates the team with an administrator. @returns the cookie of their session */
async function signIn(databaseUrl: string, apiUrl: string): Promise<string> {
  const email = `${TEAM}@conformance.test`;
  const prisma = connectPrisma(databaseUrl);
  const team = await teamStore(prisma).createTeam(TEAM);
  const users = userStore(prisma);
  await users.saveMember(team, await users.createUser({ email }), 'admin');
  await prisma.$disconnect();
  const answer = await fetch(`${apiUrl}/auth/dev-login/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) throw new Error(`The sign-in failed: ${await answer.text()}`);
  return cookie;
}
