import { asTeamId, type TeamId } from '@corral/contracts';
import { type ListenOptions, listen, type Prisma } from '@corral/database';
import type { Log, Metrics } from '@corral/service';
import pLimit from 'p-limit';
import type { EventConfig } from '../app-config.js';
import { clusterBody } from '../clusters/view.js';
import { connectionBody } from '../connections/view.js';
import { dnsTokenBody } from '../dns/tokens.js';
import { nodePoolBody } from '../node-pools/view.js';
import { operationBody } from '../operations/view.js';
import { adoptedServerBody } from '../servers/view.js';
import { memberBody } from '../teams/body.js';
import { type LiveChangesDeps, liveChanges } from './live-changes.js';
import { type BodyReader, eventRenderer } from './render-events.js';
import { type ById, eventResourceStore } from './resource-store.js';
import { eventRoutes } from './routes.js';
import { teamEventStore } from './store.js';
import { teamFeed } from './team-feed.js';

/** Subscribes to notifications about events. */
export type EventNotifications = LiveChangesDeps['onNotification'];

export interface EventHandlerDeps {
  readonly config: { readonly publicUrl: () => string; readonly events: EventConfig };
  readonly prisma: Prisma;
  readonly sessions: { readonly find: LiveChangesDeps['findSession'] };
  /** Notifications from Postgres. */
  readonly eventNotifications: EventNotifications;
  /** `draining`: streams end when it is aborted. */
  readonly health: { readonly draining: AbortSignal };
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly log: Log;
}

/** Number of events per read. */
const PAGE = 100;
/** Poll interval in ms. Limits the delay of record set events, which are written without notification. */
const POLL_MS = 1_000;
/** Concurrent reads of events, limited so that requests find free database connections. */
const READINGS_AT_ONCE = 3;

/** Builds the handlers for event streams. */
export function buildEventHandlers(deps: EventHandlerDeps) {
  const { config, prisma, sessions, health, metrics, log } = deps;
  const { heartbeatMs, retryMs, limits } = config.events;
  const store = teamEventStore(prisma);
  const render = eventRenderer(bodyReaders(deps));
  const limited = pLimit(READINGS_AT_ONCE);
  const live = liveChanges({
    startFeed: (team) =>
      teamFeed({
        read: (after) =>
          limited(async () => {
            const page = await store.read(team.id, after, PAGE);
            // Refresh the viewers' roles before they are applied to these events.
            if (page.events.some(({ kind }) => kind === 'Member')) await live.membersChanged(team.id);
            return { ...page, events: await render(team, page.events) };
          }),
        isKept: (position) => limited(() => store.isKept(team.id, position)),
        onError: (error) => log.warn('events not read', { team: team.slug, error }),
        onHeld: (forMs) => log.warn('events wait for a transaction that does not end', { team: team.slug, forMs }),
      }),
    onNotification: deps.eventNotifications,
    findTeamsWithEvents: (ends) => limited(() => store.findTeamsWithEvents(ends)),
    pollMs: POLL_MS,
    findSession: sessions.find,
    heartbeatMs,
    retryMs,
    ending: health.draining,
  });
  metrics.gauge({
    name: 'corral_event_streams_count',
    help: 'Streams of live changes that are open',
    collect() {
      this.set(live.count());
    },
  });
  metrics.gauge({
    name: 'corral_event_teams_held_count',
    help: 'Teams whose live changes wait for a transaction to end',
    collect() {
      this.set(live.countHeld());
    },
  });
  return eventRoutes({ live, limits });
}

function bodyReaders({ config, prisma }: Pick<EventHandlerDeps, 'config' | 'prisma'>) {
  const store = eventResourceStore(prisma);
  return {
    Cluster: async (team, ids) => mapped(await store.clusters(team.id, ids), (cluster) => clusterBody(cluster, team)),
    NodePool: async (team, ids) => mapped(await store.nodePools(team.id, ids), nodePoolBody),
    Operation: async (team, ids) => {
      const context = { team, publicUrl: config.publicUrl() };
      return mapped(await store.operations(team.id, ids), (operation) => operationBody(operation, context));
    },
    AdoptedServer: async (team, ids) =>
      mapped(await store.adoptedServers(team.id, ids), (server) => adoptedServerBody({ team }, server)),
    Connection: async (team, ids) =>
      mapped(await store.connections(team.id, ids), (connection) => connectionBody({ team }, connection)),
    RecordSet: (team, ids) => store.recordSets(team, ids),
    DnsToken: async (team, ids) => {
      const { tokens, now } = await store.dnsTokens(team.id, ids);
      return mapped(tokens, (token) => dnsTokenBody(token, now));
    },
    Member: async (team, ids) => mapped(await store.members(team.id, ids), memberBody),
  } satisfies Record<string, BodyReader>;
}

const mapped = <A, B>(records: ById<A>, bodyOf: (record: A) => B): ById<B> =>
  new Map([...records].map(([id, record]) => [id, bodyOf(record)]));

/** The channel on which triggers notify about a team's events. */
const CHANNEL = 'team_event';

/** Listens for teams that have events, on one database connection of this process. */
export function listenToTeamEvents(options: Pick<ListenOptions, 'databaseUrl' | 'applicationName' | 'onError'>) {
  const subscribers = new Set<(teamId: TeamId | null) => void>();
  const notify = (teamId: TeamId | null): void => {
    for (const callback of subscribers) callback(teamId);
  };
  const listener = listen({
    ...options,
    channels: { [CHANNEL]: (teamId) => notify(asTeamId(teamId)) },
    onGap: () => notify(null),
  });
  const subscribe: LiveChangesDeps['onNotification'] = (callback) => void subscribers.add(callback);
  return { subscribe, close: listener.close };
}
