import { clusterLimits } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import type { TrustProxy } from '@corral/service';

type Numbers<T> = Readonly<Record<keyof T, number>>;

/** How many changes may wait, and for how long. */
export const changeDefaults = {
  waitingPerTeam: clusterLimits.changesWaitingPerTeam,
  waitingPerProcess: clusterLimits.changesWaitingPerProcess,
  waitMs: clusterLimits.changeWaitSeconds * 1_000,
};
export type ChangeLimits = Numbers<typeof changeDefaults>;

/** How many requests may wait for operations concurrently. `perCaller`: of one person or service account. */
export const operationWaitLimits = {
  perCaller: clusterLimits.operationWaitsPerCaller,
  perTeam: clusterLimits.operationWaitsPerTeam,
  perProcess: clusterLimits.operationWaitsPerProcess,
};
export type OperationWaitLimits = Numbers<typeof operationWaitLimits>;

/** Streams of live changes. */
export interface EventConfig {
  readonly heartbeatMs: number;
  /** Reconnection delay for clients in ms. */
  readonly retryMs: number;
  readonly limits: { readonly perPerson: number; readonly perTeam: number; readonly perProcess: number };
}

export const eventDefaults: EventConfig = {
  heartbeatMs: 4_000,
  retryMs: 1_000,
  limits: {
    perPerson: clusterLimits.eventStreamsPerPerson,
    perTeam: clusterLimits.eventStreamsPerTeam,
    perProcess: clusterLimits.eventStreamsPerProcess,
  },
};

/** Limits per minute. They are fixed; tests set others. */
export const deviceLimits = {
  signInsPerAddress: clusterLimits.deviceSignInsPerAddressPerMinute,
  wrongCodesPerAddress: clusterLimits.userCodesPerAddressPerMinute,
  wrongCodesPerPerson: clusterLimits.userCodesPerPersonPerMinute,
};

/** Requests per minute. */
export interface RateLimits {
  readonly perAddressPerMinute: number;
  readonly perPersonPerMinute: number;
  readonly signInRequestsPerAddressPerMinute: number;
  readonly devices: Numbers<typeof deviceLimits>;
}

export interface ClusterQuotas {
  readonly clustersPerTeam: number;
  readonly poolsPerCluster: number;
  /** Compared with the sum of the pools' maximums. */
  readonly nodesPerCluster: number;
}

/** A team's overrides of the installation's quotas, as its row has them. Null means no override. */
export type QuotaOverrides = Readonly<
  Record<'clustersMax' | 'poolsPerClusterMax' | 'nodesPerClusterMax', number | null>
>;

/** The settings of the app. */
export interface AppConfig {
  /** Public base URL of this service, without a trailing slash. Known once the service listens. */
  readonly publicUrl: () => string;
  /** Express' setting of the same name. */
  readonly trustProxy: TrustProxy;
  readonly limits: RateLimits;
  /** See `AdmitRequestsOptions.max`. */
  readonly requestsInFlightMax: number;
  /** Size of the pool for reads, and the number of requests that are worked on concurrently. */
  readonly readConnections: number;
  readonly changes: ChangeLimits;
  readonly operationWaits: OperationWaitLimits;
  readonly events: EventConfig;

  readonly secureCookies: boolean;
  /** Whether people can sign in with an address alone. For development only. */
  readonly devSignIn: boolean;
  /** See `securityTxt`. */
  readonly securityContact: string | undefined;
  /** Whether this service serves the web console. */
  readonly consoleEnabled: boolean;
  /** Base URL of the console, without a trailing slash. Null without a console. */
  readonly consoleUrl: () => string | null;
  /** Secrets that the billing system may sign with. Empty without a billing system. */
  readonly billingSecrets: readonly string[];

  /** Quotas of teams without overrides. */
  readonly quotas: ClusterQuotas;
  /** Quota of teams without an override. */
  readonly adoptedServersPerTeam: number;
  /** Whether a team needs an active subscription to start a cluster. */
  readonly subscriptionRequired: boolean;
  /** Optional features that the garden supports. */
  readonly gardenFeatures: ReadonlySet<GardenFeature>;

  /** The quota of records per team, as configured in the gateways. */
  readonly dnsRecordsPerTeam: number;
  readonly dnsRequestsPerTeamPerMinute: number;
  /** Null when the installation does not state where its DNS API is: people then get no DNS token for their session. */
  readonly dnsApi: {
    /** Base URL, which ends in `/v1`. */
    readonly endpoint: string;
    /** The zone of all teams. */
    readonly zone: string;
  } | null;
}
