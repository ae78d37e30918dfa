import type { Buckets, KeptReading } from '@corral/admission';
import type { DeviceSignInStore, SignInCodeStore } from '@corral/auth';
import type { ClusterId, ServerId, TokenVerdict } from '@corral/contracts';
import type { Pool, Prisma } from '@corral/database';
import type { GardenClient } from '@corral/garden';
import type { Projects } from '@corral/hcloud';
import type { Queue } from '@corral/queue';
import type { KeyRing } from '@corral/secrets';
import type { CallGuard, Health, Log, Metrics } from '@corral/service';
import type { AppConfig } from './app-config.js';
import { cachedCatalogue } from './catalogue/cached-catalogue.js';
import { type ChangeTeam, type RunQueued, teamChanges } from './changes/team-changes.js';
import type { Credentials } from './http/caller.js';
import { type RequestLimits, requestLimits } from './http/limits.js';
import type { EventNotifications } from './operations/operation-waits.js';
import type { OidcClient } from './people/oidc-client.js';
import type { IssuerCalls } from './token-exchange/issuer-calls.js';
import type { KeysOf } from './token-exchange/issuer-keys.js';
import type { refusalLog } from './token-exchange/refusal-log.js';
import { upstreams } from './upstreams.js';

/** What the process is connected to. Tests replace parts of it. */
export interface AppDeps extends Credentials {
  readonly config: AppConfig;
  /** The client for everything but changes of a team. */
  readonly prisma: Prisma;
  /** The pool for single statements, on the same connections. */
  readonly pool: Pool;
  /** The client for changes. `connections`: the maximum number of concurrent changes. */
  readonly changes: { readonly prisma: Prisma; readonly connections: number };
  readonly queue: Queue;
  readonly garden: GardenClient;
  /** The cloud projects of teams. */
  readonly projects: Projects;
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
  /** The budgets of the DNS upstream, which gateways and reconcilers share, by project. */
  readonly readBudgets: () => Promise<Record<string, KeptReading>>;
  readonly buckets: Buckets;
  /** The keys that encrypt stored secrets. */
  readonly secrets: KeyRing;

  readonly codes: SignInCodeStore;
  readonly devices: DeviceSignInStore;
  /** Null when no OpenID Connect provider is configured. */
  readonly oidc: OidcClient | null;
  readonly issuerCalls: IssuerCalls;
  readonly issuerKeys: KeysOf;
  readonly refusals: ReturnType<typeof refusalLog>;
  /** It says which addresses a webhook may have. */
  readonly webhookGuard: Pick<CallGuard, 'refusalOfUrl'>;

  /** Subscribes to notifications of Postgres. The callback gets a team's id, or null when any team may have changes. */
  readonly eventNotifications: EventNotifications;
  /** Unix time in ms. */
  readonly now: () => number;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Log;
}

/**
 * Everything that the app works with. There is one, which `buildApp` makes.
 *
 * How a subject joins: its `routes.ts` exports one function that takes `Services` and returns the handlers of its rows, and
 * `build-app.ts` spreads them. Handlers hand `Services` on to use cases (`declareCluster(services, caller, …)`), and use cases call the
 * functions of their store with `services.prisma`, or inside `services.changeTeam` with the transaction. What lives as long as the
 * app and belongs to one subject (a limit, a feed) is made in the function of its routes; what several subjects use is a member here.
 *
 * A module whose types stand here must not import this one: such parts take plain parameters.
 */
export interface Services extends AppDeps {
  /** Queues a change of a team, and runs it in one transaction that locks the team. */
  readonly changeTeam: ChangeTeam;
  /** Runs work that uses a connection for changes but changes no team. */
  readonly runQueued: RunQueued;
  readonly limits: RequestLimits;
  readonly catalogue: ReturnType<typeof cachedCatalogue>;
  readonly upstreams: ReturnType<typeof upstreams>;
  readonly wake: ReturnType<typeof wakeUps>;
}

/**
 * Wake-ups for rows that were made due, to send once that is committed. Nobody waits for them, so that an answer does not: the sweep finds
 * the row if a wake-up is lost.
 */
const wakeUps = (queue: Queue) => ({
  cluster: (clusterId: ClusterId) => void queue.nudge('reconcile-cluster', { clusterId }, { jobId: clusterId }),
  server: (serverId: ServerId) => void queue.nudge('reconcile-server', { serverId }, { jobId: serverId }),
  /** Has the tokens of connections verified, and their prices read, where that is due. */
  connections() {
    void queue.nudge('verify-connections', {}, { jobId: 'change' });
    void queue.nudge('refresh-prices', {}, { jobId: 'change' });
  },
  mails: () => void queue.nudge('send-mails', {}, { jobId: 'send-mails' }),
  names: () => void queue.nudge('keep-names', {}, { jobId: 'change' }),
});

/** The time limit of a catalogue read, in ms. Short because a request waits for it; the previous catalogue is the fallback. */
const CATALOGUE_MS_MAX = 5_000;

export function buildServices(deps: AppDeps): Services {
  const { config, changes, buckets, queue, garden, now, metrics, log } = deps;
  const { changeTeam, runQueued, countWaiting } = teamChanges(changes.prisma, config.changes, changes.connections);
  metrics.gauge({
    name: 'corral_changes_waiting',
    help: 'Changes in the queue',
    collect() {
      this.set(countWaiting());
    },
  });
  return {
    ...deps,
    changeTeam,
    runQueued,
    limits: requestLimits(buckets, config.limits),
    catalogue: cachedCatalogue({
      read: () => garden.readCloudProfile(AbortSignal.timeout(CATALOGUE_MS_MAX)),
      now,
      random: Math.random,
      onReadError: (error) => log.warn('catalogue not read', { error }),
    }),
    upstreams: upstreams(deps),
    wake: wakeUps(queue),
  };
}
