import { type ServerErrorCode, serverLabels } from '@corral/contracts';
import type { ServerReading } from '@corral/hcloud';
import type { WantedServer } from './model.js';

export type Blocker =
  | { readonly kind: 'fails'; readonly code: ServerErrorCode; readonly message: string }
  /** It ends by itself. */
  | { readonly kind: 'passes'; readonly message: string };

const fails = (code: ServerErrorCode, message: string): Blocker => ({ kind: 'fails', code, message });

/** Why the server must not be rebuilt as it is now; null when nothing is in the way. */
export function blockerOf(wanted: WantedServer, server: ServerReading): Blocker | null {
  const { labels } = server;
  if (Object.hasOwn(labels, serverLabels.clusterNode)) {
    return fails(
      'server_claimed_elsewhere',
      `The label ${serverLabels.clusterNode} marks the server as a node of a cluster.`,
    );
  }
  const claim = labels[serverLabels.claim];
  if (claim !== undefined && claim !== wanted.claimToken) {
    return fails('server_claimed_elsewhere', `The label ${serverLabels.claim} belongs to another adoption.`);
  }
  for (const field of ['serverType', 'location', 'architecture'] as const) {
    if (server[field] === wanted[field]) continue;
    return fails(
      'server_changed',
      `The ${field} of the server is ${server[field]}, but ${wanted[field]} was acknowledged.`,
    );
  }
  if (server.isRebuildProtected) return fails('server_protected', 'The server is protected against rebuilds.');
  if (server.isInRescue) return fails('server_in_rescue', 'The rescue system of the server is enabled.');
  if (server.hasIso) return fails('server_iso_mounted', 'An ISO image is mounted on the server.');
  if (server.isLocked)
    return { kind: 'passes', message: 'The provider has locked the server because an action is running on it.' };
  if (server.status !== 'running' && server.status !== 'off') {
    return { kind: 'passes', message: `The provider is busy with the server: ${statusOf(server)}.` };
  }
  return null;
}

/** The provider's word, where it is one. */
const statusOf = ({ status }: ServerReading): string => (/^[a-z_]{1,32}$/.test(status) ? status : 'unknown');
