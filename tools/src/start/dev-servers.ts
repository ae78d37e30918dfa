import { serverLabels } from '@corral/contracts';
import type { DevServer } from './dev-file.js';

export interface DevServersOptions {
  /** The API of the provider, with its version. */
  readonly hcloudUrl: string;
  /** The admin address of the local cloud, through which the servers are created. */
  readonly adminUrl: string;
  /** A token of the project for the servers. */
  readonly token: string;
}

/** Servers that a team might have had for years. */
const wanted = [
  { name: 'old-web', serverType: 'cx22', location: 'hel1', architecture: 'x86', labels: { env: 'prod' } },
  { name: 'old-worker', serverType: 'cax11', location: 'fsn1', architecture: 'arm' },
];

/** Two servers in a project of the local cloud, to try out an adoption. Those of the last start stay. */
export async function ensureDevServers({ hcloudUrl, adminUrl, token }: DevServersOptions): Promise<DevServer[]> {
  const present = await readServers(hcloudUrl, token);
  if (present.length > 0) return present;
  for (const server of wanted) {
    const answer = await fetch(`${adminUrl}/admin/servers`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, ...server }),
    });
    if (!answer.ok) throw new Error(`The local cloud did not create a server: ${answer.status} ${await answer.text()}`);
  }
  return readServers(hcloudUrl, token);
}

interface ListedServer {
  readonly id: number;
  readonly server_type: { readonly name: string; readonly architecture: string };
  readonly location: { readonly name: string };
  readonly labels: Readonly<Record<string, string>>;
}

async function readServers(hcloudUrl: string, token: string): Promise<DevServer[]> {
  const answer = await fetch(`${hcloudUrl}/servers`, { headers: { Authorization: `Bearer ${token}` } });
  if (!answer.ok) throw new Error(`The local cloud did not list its servers: ${answer.status} ${await answer.text()}`);
  const { servers } = (await answer.json()) as { servers: ListedServer[] };
  const ofNoCluster = servers.filter(({ labels }) => !Object.hasOwn(labels, serverLabels.clusterNode));
  return ofNoCluster.map(({ id, server_type: type, location }) => ({
    serverID: id,
    serverType: type.name,
    location: location.name,
    serverKind: 'cloud',
    architecture: type.architecture === 'arm' ? 'arm64' : 'amd64',
  }));
}
