import { outside } from '@corral/admission';
import { bearerToken } from '@corral/auth';
import { areEventsKept, type EventPosition, parsePosition, readEvents } from '@corral/cluster-data';
import {
  type ClusterOperationId,
  type ClusterRoute,
  clusterRoutes,
  type Role,
  refusalOfAccount,
  type TeamId,
} from '@corral/contracts';
import { scopeOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import pLimit from 'p-limit';
import { callerOf, sessionCookieOf } from '../http/caller.js';
import { concurrencyLimit, teamConcurrencyLimit } from '../http/limits.js';
import { invalidField } from '../problem.js';
import type { Services } from '../services.js';
import { renderEvents, teamFeed } from './feed.js';
import { type EventTeam, findTeamsWithEvents, readBodies } from './store.js';
import { type Credential, eventStreams, type StreamSink } from './streams.js';

/** Number of events per read. */
const PAGE = 100;
/** Concurrent reads of events, limited so that requests find free database connections. */
const READINGS_AT_ONCE = 3;

const route = (clusterRoutes as readonly ClusterRoute[]).find(
  ({ operationId }) => operationId === 'streamTeamEvents',
) as ClusterRoute;

/** The handler of event streams. */
export function eventRoutes({
  config,
  prisma,
  sessions,
  accounts,
  eventNotifications,
  health,
  metrics,
  log,
}: Services) {
  const { heartbeatMs, retryMs, limits } = config.events;
  const reads = pLimit(READINGS_AT_ONCE);
  const ofTeam = teamConcurrencyLimit(limits, 'Streams of events');
  const ofPerson = concurrencyLimit(limits.perPerson, 'Streams of events of this person or service account');

  const startFeed = (team: EventTeam, membersChanged: () => Promise<void>) =>
    teamFeed({
      read: (after) =>
        reads(async () => {
          const page = await readEvents(prisma, team.id, after, PAGE);
          // Roles are refreshed before they are applied to these events.
          if (page.events.some(({ kind }) => kind === 'Member')) await membersChanged();
          const events = await renderEvents(page.events, (kind, ids) =>
            readBodies[kind](prisma, team, ids, config.publicUrl()),
          );
          return { ...page, events };
        }),
      areKept: (position) => reads(() => areEventsKept(prisma, team.id, position)),
      onError: (error) => log.warn('events not read', { team: team.slug, error }),
      onHeld: (forMs) => log.warn('events wait for a transaction that does not end', { team: team.slug, forMs }),
    });
  const findRoles = async ({ secret, isAccount }: Credential): Promise<ReadonlyMap<TeamId, Role>> => {
    if (!isAccount) {
      const session = await sessions.find(secret);
      return new Map(session?.memberships.map(({ teamId, role }) => [teamId, role]));
    }
    const account = await accounts.find(secret);
    const mayFollow = account !== null && refusalOfAccount(account, route, null) === null;
    return new Map(mayFollow ? [[account.team.id, account.role]] : []);
  };
  const streams = eventStreams({
    startFeed,
    findTeamsWithEvents: (ends) => reads(() => findTeamsWithEvents(prisma, ends)),
    findRoles,
    heartbeatMs,
    retryMs,
    ending: health.draining,
  });
  eventNotifications(streams.wake);
  metrics.gauge({
    name: 'corral_event_streams',
    help: 'Streams of live changes that are open',
    collect() {
      this.set(streams.count());
    },
  });
  metrics.gauge({
    name: 'corral_event_teams_held',
    help: 'Teams whose live changes wait for a transaction to end',
    collect() {
      this.set(streams.countHeld());
    },
  });

  return {
    async streamTeamEvents(req, res) {
      const { team, userId, account, role } = callerOf(res);
      const isAccount = account !== null;
      const secret = (isAccount ? bearerToken(req.rawHeaders) : sessionCookieOf(req)) as string;
      const after = lastEventIdOf(req);
      if (req.method === 'HEAD') {
        sendStreamHead(res);
        res.end();
        return;
      }
      const follower = { team, viewer: { userId, role }, credential: { secret, isAccount }, after };
      const stream = async (): Promise<void> => {
        const leave = await streams.follow(follower, () => openAnswer(res));
        await outside(scopeOf(res), () => untilClosed(res));
        leave();
      };
      await ofPerson(account?.id ?? (userId as string), () => ofTeam(team.id, stream));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

async function untilClosed(res: Response): Promise<void> {
  if (res.closed) return;
  await new Promise<void>((resolve) => {
    res.once('close', resolve);
  });
}

/** Time limit in ms for sending the end of a stream to a slow client. */
const END_MS_MAX = 5_000;

function sendStreamHead(res: Response): void {
  res.statusCode = 200;
  res.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  // Proxies must not cache, compress or buffer events.
  res.setHeader('Cache-Control', 'no-store, no-transform');
  res.setHeader('X-Accel-Buffering', 'no');
}

/** Starts an answer that is a stream of events. */
function openAnswer(res: Response): StreamSink {
  sendStreamHead(res);
  res.flushHeaders();
  res.on('error', () => undefined); // 'close' follows and is handled
  return {
    write: (bytes) => !res.destroyed && res.write(bytes),
    isFull: () => res.writableNeedDrain,
    drained: () => new Promise((resolve) => res.once('drain', resolve)),
    end(bytes) {
      const timer = setTimeout(() => res.destroy(), END_MS_MAX);
      res.once('close', () => clearTimeout(timer));
      res.end(bytes);
    },
  };
}

/**
 * Reads `Last-Event-ID`.
 *
 * @returns null without the header or when it is empty, because no event has arrived yet
 * @throws Problem `validation_failed` for an invalid id
 */
function lastEventIdOf(req: Request): EventPosition | null {
  const text = req.headers['last-event-id'];
  if (text === undefined || text === '') return null;
  const position = typeof text === 'string' ? parsePosition(text) : null;
  if (position === null) {
    throw invalidField('validation_failed', '/headers/Last-Event-ID', 'must be the `id` of an event of this stream');
  }
  return position;
}
