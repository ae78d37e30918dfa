import { asClusterId, asConnectionId, asNodePoolId, asServerId } from '@corral/contracts';
import type { NodeReading } from '@corral/garden';
import type { ServerAction, ServerReading } from '@corral/hcloud';
import {
  type NodeCluster,
  nothingSeen,
  type Seen,
  type ServerTimes,
  type Step,
  type WantedServer,
} from '../../src/servers/model.js';

export const now = new Date('2026-11-21T12:00:00.400Z');
/** The provider's clock at that time. */
export const second = new Date('2026-11-21T12:00:00Z');
export const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
export const times: ServerTimes = {
  rebuildGraceMs: 60_000,
  adoptionMsMax: 3_600_000,
  joinMsMax: 1_800_000,
  commandMsMax: 604_800_000,
  drainMsMax: 600_000,
};

export const aWanted = (more: Partial<WantedServer> = {}): WantedServer => ({
  id: asServerId('row'),
  serverId: 4711,
  kind: 'cloud',
  isAdopting: true,
  serverType: 'cx22',
  location: 'hel1',
  architecture: 'amd64',
  generation: 1,
  acknowledgedAt: ago(10),
  purpose: 'adopt',
  begunAt: ago(10),
  phase: 'Adopting',
  message: '',
  observedAt: ago(60),
  claimToken: 'ours',
  labelledAt: ago(5),
  imageId: null,
  rebuildAskedAt: null,
  rebuildActionId: null,
  deregisterRequestedAt: null,
  failures: 0,
  waiting: null,
  connection: { id: asConnectionId('connection'), phase: 'Ready' },
  claim: null,
  currentCluster: null,
  unreadHold: null,
  nodeName: null,
  ...more,
});

export const aCluster = (more: Partial<NodeCluster> = {}): NodeCluster => ({
  id: asClusterId('web'),
  shoot: { namespace: 'garden-t1', name: 'c1' },
  isDeleting: false,
  isHibernated: false,
  canTakeNodes: true,
  ...more,
});
export const aClaim = (cluster = aCluster(), poolName = 'metal') => ({
  poolId: asNodePoolId(poolName),
  poolName,
  cluster,
});
/** Claimed by a cluster, and a node of it. */
export const aMember = (phase: WantedServer['phase'], more: Partial<WantedServer> = {}, cluster = aCluster()) =>
  aWanted({ phase, purpose: 'join', claim: aClaim(cluster), currentCluster: cluster, nodeName: 'web', ...more });

export const aServer = (more: Partial<ServerReading> = {}): ServerReading => ({
  id: 4711,
  name: 'web',
  status: 'running',
  isLocked: false,
  serverType: 'cx22',
  architecture: 'amd64',
  location: 'hel1',
  labels: { env: 'prod', 'corral.dev/claim': 'ours' },
  imageId: 1,
  isRebuildProtected: false,
  isInRescue: false,
  hasIso: false,
  diskGb: 40,
  publicAddresses: ['192.0.2.7'],
  ...more,
});
export const anAction = (more: Partial<ServerAction> = {}): ServerAction => ({
  id: 9,
  command: 'rebuild_server',
  status: 'success',
  progress: 100,
  startedAt: ago(3_600),
  errorCode: null,
  ...more,
});
const anImage = { id: 7, name: 'ubuntu-24.04', architecture: 'amd64', diskGb: 5 } as const;
/** No obstacle to a rebuild. */
export const ready: Seen = {
  ...nothingSeen,
  server: aServer(),
  image: anImage,
  actions: { list: [anAction()], at: second },
};
/** The same with a server that differs. */
export const having = (server: Partial<ServerReading>): Seen => ({ ...ready, server: aServer(server) });
/** Nothing but an action, and perhaps a server. */
export const acted = (action: Partial<ServerAction> = {}, server?: Partial<ServerReading>): Seen => ({
  ...nothingSeen,
  action: anAction(action),
  ...(server && { server: aServer(server) }),
});

export const nodePatch = {
  annotations: { 'node.machine.sapcloud.io/not-managed-by-mcm': '1' },
  labels: { 'corral.dev/pool': 'metal' },
};
export const aNode = (more: Partial<NodeReading> = {}): NodeReading => ({
  name: 'web',
  uid: 'u1',
  isReady: true,
  isUnschedulable: false,
  externalIps: [],
  ...nodePatch,
  ...more,
});

/** A step as text. For `finish` with its verdict. */
export function said(step: Step): string {
  if (step.do !== 'finish') return step.do;
  const { phase, operation } = step.verdict;
  return `${phase} ${operation.to}${operation.to === 'failed' ? ` ${operation.code}` : ''}`;
}
