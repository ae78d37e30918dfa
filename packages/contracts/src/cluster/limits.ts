import { type BodyLimits, bodyDepth } from '../body-limits.js';

/**
 * The limits of the cluster-management API. Quotas and request limits are defaults of the configuration; the others are
 * part of the contract and fixed.
 */
export const clusterLimits = {
  clustersPerTeam: 20,
  poolsPerCluster: 20,
  /** Counted by the maximums of the pools. */
  nodesPerCluster: 100,
  adoptedServersPerTeam: 50,
  /** Names on a cluster. Each has an ExternalDNS of its own there. */
  hostedNamesPerCluster: 10,
  /** The list of connections is not paginated. */
  connectionsPerTeam: 50,
  requestsPerAddressPerMinute: 300,
  requestsPerPersonPerMinute: 600,
  /** Kubeconfigs of each scope for each person and service account, so that nobody keeps others from access to a cluster. */
  kubeconfigsPerClusterPerHour: 20,
  /** Commands for each person and service account. */
  joinCommandsPerServerPerHour: 20,
  /** Requests that start or finish a sign-in; each sign-in needs two. */
  signInRequestsPerAddressPerMinute: 60,
  /** Changes waiting for earlier ones of their team, per process. */
  changesWaitingPerTeam: 64,
  /** Changes waiting for earlier ones, of all teams, per process. */
  changesWaitingPerProcess: 512,
  changeWaitSeconds: 10,

  /** Open invitations. */
  invitationsPerTeam: 50,
  invitationMailsPerTeamPerHour: 60,
  invitationMailsPerAddressPerHour: 5,

  clusterNameCharacters: 63,
  poolNameCharacters: 50,
  /** Length of a name on a cluster, relative to the zone: a label of Kubernetes holds it. */
  hostedNameCharacters: 63,
  machineTypeCharacters: 20,
  kubernetesVersionCharacters: 20,
  regionCharacters: 20,
  refCharacters: 40,
  /** Length of a server's type and location. */
  serverWordCharacters: 40,
  connectionNameCharacters: 100,
  tokenCharacters: 256,
  dnsTokenNameCharacters: 100,
  teamNameCharacters: 100,
  /** Length of texts from the billing system. */
  subscriptionTextCharacters: 255,
  subscriptionItemsMax: 100,
  imageFieldsMax: 10,
  imageTextCharacters: 100,

  kubeconfigSecondsDefault: 3_600,
  /** Lower bound of the garden. */
  kubeconfigSecondsMin: 600,
  kubeconfigSecondsMax: 28_800,
  /** The newest issues of a cluster that members see. */
  kubeconfigIssuesShown: 50,
  projectServersListed: 50,
  /** Record sets that a plan or the list of dangling ones has at most. A team has fewer records by default. */
  pointingRecordSetsShown: 500,

  /** Validity of the token in a join command. */
  joinCommandSeconds: 900,

  serviceAccountsPerTeam: 20,
  /** Active tokens of a service account: two, so that one can replace the other. Tokens by exchange do not count. */
  accountTokensActive: 2,
  accountTokenDays: 365,
  /** Tokens of a service account that stay in the list after their end. */
  accountTokensEndedKept: 20,
  accountClusterPatterns: 10,
  trustedIssuersPerTeam: 20,
  /** Length of a URL or an audience. */
  issuerCharacters: 255,
  webhooksPerTeam: 10,
  webhookUrlCharacters: 500,
  /** How long messages are signed with a replaced secret as well. */
  webhookSecretOverlapHours: 24,
  claimConditions: 10,
  claimNameCharacters: 64,
  claimValueCharacters: 255,
  claimWildcards: 3,
  /** Validity of a token by exchange. */
  exchangedTokenSeconds: 900,
  /** Length of the token that is exchanged. */
  subjectTokenCharacters: 8_192,
  subjectTokenHoursMax: 24,
  subjectTokenLeewaySeconds: 30,
  /** Exchanges that succeed. Refused ones count against the address. */
  exchangesPerAccountPerMinute: 60,

  invitationDays: 14,
  /** Maximum age of a billing event's signature, or lead over our clock. */
  billingSignatureSeconds: 300,

  listItemsDefault: 50,
  listItemsMax: 200,
  idempotencyKeyCharacters: 255,
  signInMinutesMax: 10,
  signInAttemptsAtOnce: 8,
  returnToCharacters: 500,
  /** Validity of a code for the command line. */
  signInCodeSeconds: 60,
  redirectUriCharacters: 64,
  stateCharactersMin: 8,
  stateCharacters: 128,
  deviceCharacters: 64,
  /** Validity of the codes with which a machine without a browser signs in. */
  deviceCodeSeconds: 600,
  /** Pause between the polls of such a machine, and what is added to it by each poll that comes too early. */
  devicePollSeconds: 5,
  /** Sign-ins without a browser that begin. */
  deviceSignInsPerAddressPerMinute: 10,
  /** Wrong ones. */
  userCodesPerAddressPerMinute: 10,
  /** Wrong ones. */
  userCodesPerPersonPerMinute: 5,
  /** Length of the form in which a person confirms a request of the command line. */
  sealedRequestCharacters: 2_000,
  formParameters: 20,
  userAgentCharacters: 200,
  /** Active sessions of a person. A further sign-in ends the oldest. */
  sessionsPerPerson: 20,
  personNameCharacters: 200,
  /** Concurrent exports per process, since an export may take minutes. A team gets at most a quarter. */
  auditExportsPerTeam: 2,
  auditExportsPerProcess: 8,
  /** Entries that are taken back at once: an import of 200 record sets with three writes each. */
  undoEntries: 600,
  /** Concurrent requests per process, since the garden issues each kubeconfig and is slow. Administrators have as many again. */
  kubeconfigsPerTeamAtOnce: 8,
  kubeconfigsPerProcessAtOnce: 32,
  /** Concurrent requests per process, since the cluster creates the token for each command. */
  joinCommandsPerTeamAtOnce: 4,
  joinCommandsPerProcessAtOnce: 16,
  /** Usage over time: points in an answer, and length of the range if none is requested. */
  usagePointsMax: 1_000,
  usageDaysDefault: 7,
  /** How long live changes can be resumed. */
  teamEventsKeptHours: 24,
  /**
   * Open streams per process. A browser needs one per window; 1,000 streams take less than 300 MB. A team gets at most
   * a quarter.
   */
  eventStreamsPerPerson: 20,
  eventStreamsPerTeam: 100,
  eventStreamsPerProcess: 2_000,

  /** Longest wait of a read of an operation that asks to wait for its end. Proxies give up after 60 s by default. */
  operationWaitSecondsMax: 50,
  /** A person or service account may have so many such waits at the same time. */
  operationWaitsPerCaller: 50,
  operationWaitsPerTeam: 100,
  /** A team gets at most a quarter. */
  operationWaitsPerProcess: 1_000,
} as const;

/** Bounds of a request body, checked before its contents. */
export const clusterBodyLimits = { bytes: 262_144, depth: bodyDepth, entries: 2_000 } as const satisfies BodyLimits;

/** The node ranges available to clusters; the first is the default. */
export const nodeCidrs = ['10.250.0.0/16', '172.18.0.0/16', '192.168.128.0/17'] as const;
/** What a pool gets whose declaration leaves it out, whatever it has. Source: the specification of the API. */
export const nodePoolDefaults = { minimum: 0, maximum: 3, publicIP: true } as const;
/** The ranges of a cluster that does not declare any. */
export const defaultNetwork = {
  nodeCIDR: nodeCidrs[0],
  podCIDR: '10.244.0.0/16',
  serviceCIDR: '10.96.0.0/16',
} as const;
