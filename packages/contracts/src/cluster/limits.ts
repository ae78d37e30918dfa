import { type BodyLimits, bodyDepth } from '../body-limits.js';

/**
 * The limits of the cluster-management API. Quotas and request limits are the defaults of the configuration; the
 * others are part of the contract and cannot be configured.
 */
export const clusterLimits = {
  clustersPerTeam: 20,
  poolsPerCluster: 20,
  /** Counted by what the pools may grow to. */
  nodesPerCluster: 100,
  adoptedServersPerTeam: 50,
  /** Their list has no pages. */
  connectionsPerTeam: 50,
  requestsPerAddressPerMinute: 300,
  requestsPerSessionPerMinute: 600,
  kubeconfigsPerClusterPerHour: 20,
  joinCommandsPerServerPerHour: 20,
  /** Requests that begin or finish a sign-in; a sign-in is two. */
  signInRequestsPerAddressPerMinute: 60,
  /** Changes that wait for earlier ones of their team, at one process. */
  changesWaitingPerTeam: 64,
  /** The same of all teams together. */
  changesWaitingPerProcess: 512,
  changeWaitSeconds: 10,

  /** That wait for an answer. */
  invitationsPerTeam: 50,
  invitationMailsPerTeamPerHour: 60,
  invitationMailsPerAddressPerHour: 5,

  clusterNameCharacters: 63,
  poolNameCharacters: 50,
  machineTypeCharacters: 20,
  kubernetesVersionCharacters: 20,
  regionCharacters: 20,
  refCharacters: 40,
  /** Type and location of a server. */
  serverWordCharacters: 40,
  connectionNameCharacters: 100,
  tokenCharacters: 256,
  dnsTokenNameCharacters: 100,
  teamNameCharacters: 100,
  /** Of what the billing system states. */
  subscriptionTextCharacters: 255,
  subscriptionItemsMax: 100,
  imageFieldsMax: 10,
  imageTextCharacters: 100,
  poolMinimumDefault: 0,
  poolMaximumDefault: 3,

  kubeconfigSecondsDefault: 3_600,
  /** Below it the garden refuses. */
  kubeconfigSecondsMin: 600,
  kubeconfigSecondsMax: 28_800,

  /** How long the token in a join command is good. */
  joinCommandSeconds: 900,

  invitationDays: 14,
  /** How old, or how much ahead of our clock, the signature of a billing event may be. */
  billingSignatureSeconds: 300,

  listItemsDefault: 50,
  listItemsMax: 200,
  idempotencyKeyCharacters: 255,
  signInMinutesMax: 10,
  signInAttemptsAtOnce: 8,
  returnToCharacters: 500,
  userAgentCharacters: 200,
  personNameCharacters: 200,
  /** At one process: an export may take minutes, and others want their turn. A team has a quarter of it at most. */
  auditExportsPerTeam: 2,
  auditExportsPerProcess: 8,
  /** At one process: the garden makes each of them, and takes its time. */
  kubeconfigsPerTeamAtOnce: 8,
  kubeconfigsPerProcessAtOnce: 32,
  /** The same of join commands: the cluster makes the token in each. */
  joinCommandsPerTeamAtOnce: 4,
  joinCommandsPerProcessAtOnce: 16,
  /** Live changes can be resumed for so long. */
  teamEventsKeptHours: 24,
  /** Open at one process. A browser needs one per window; 1,000 stay below 300 MB. A team has a quarter of it at most. */
  eventStreamsPerSession: 10,
  eventStreamsPerTeam: 100,
  eventStreamsPerProcess: 2_000,
} as const;

/** What a body may cost before anything in it is looked at. */
export const clusterBodyLimits = { bytes: 262_144, depth: bodyDepth, entries: 2_000 } as const satisfies BodyLimits;

/** The node ranges that a cluster may take; the first is the default. */
export const nodeCidrs = ['10.250.0.0/16', '172.18.0.0/16', '192.168.128.0/17'] as const;
/** The ranges of a cluster that declares none. */
export const defaultNetwork = {
  nodeCIDR: nodeCidrs[0],
  podCIDR: '10.244.0.0/16',
  serviceCIDR: '10.96.0.0/16',
} as const;
