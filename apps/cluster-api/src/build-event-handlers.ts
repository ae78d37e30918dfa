import { clusterLimits } from '@corral/contracts';
import pLimit from 'p-limit';
import type { AppDeps } from './build-app.js';
import { adoptedServerBody } from './domain/adopted-server-body.js';
import { clusterBody } from './domain/cluster-body.js';
import { connectionBody } from './domain/connection-body.js';
import { dnsTokenBody } from './domain/dns-token-body.js';
import { nodePoolBody } from './domain/node-pool-body.js';
import { operationBody } from './domain/operation-body.js';
import { memberBody } from './domain/team-body.js';
import { type LiveChangesDeps, liveChanges } from './live/live-changes.js';
import { type BodyReader, eventRenderer } from './live/render-events.js';
import { teamFeed } from './live/team-feed.js';
import { eventRoutes, type StreamLimits } from './routes/events.js';
import { type ById, eventResourceStore } from './store/event-resources.js';
import { teamEventStore } from './store/team-events.js';

export interface EventConfig {
  readonly heartbeatMs: number;
  /** How soon a client that loses its stream comes back. */
  readonly retryMs: number;
  readonly limits: StreamLimits;
}

export const eventDefaults = {
  heartbeatMs: 15_000,
  retryMs: 1_000,
  limits: {
    perSession: clusterLimits.eventStreamsPerSession,
    perTeam: clusterLimits.eventStreamsPerTeam,
    perProcess: clusterLimits.eventStreamsPerProcess,
  },
} as const satisfies EventConfig;

/** Where notifications of events come in. */
export type EventNews = LiveChangesDeps['onNews'];

/** Events read at a time. */
const PAGE = 100;
/** Record sets, of which no notification tells, are late by so much at most. */
const LOOK_MS = 1_000;
/** However many teams have news at once, requests find connections to the database. */
const READINGS_AT_ONCE = 3;

/** Live changes. */
export function buildEventHandlers(deps: AppDeps) {
  const { config, prisma, sessions, health, metrics, log } = deps;
  const { heartbeatMs, retryMs, limits } = config.events;
  const store = teamEventStore(prisma);
  const render = eventRenderer(bodyReaders(deps));
  const atOnce = pLimit(READINGS_AT_ONCE);
  const live = liveChanges({
    startFeed: (team) =>
      teamFeed({
        read: (after) =>
          atOnce(async () => {
            const page = await store.read(team.id, after, PAGE);
            // What somebody may read from now on is known before it is told.
            if (page.events.some(({ kind }) => kind === 'Member')) await live.membersChanged(team.id);
            return { ...page, events: await render(team, page.events) };
          }),
        isKept: (position) => atOnce(() => store.isKept(team.id, position)),
        onError: (error) => log.warn('events not read', { team: team.slug, error }),
        onHeld: (forMs) => log.warn('events wait for a transaction that does not end', { team: team.slug, forMs }),
      }),
    onNews: deps.eventNews,
    findNews: (ends) => atOnce(() => store.findNews(ends)),
    lookMs: LOOK_MS,
    findSession: sessions.find,
    ...{ heartbeatMs, retryMs, ending: health.draining },
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

function bodyReaders({ config, prisma }: AppDeps) {
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
