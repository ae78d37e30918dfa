import { outside } from '@corral/admission';
import { areEventsKept, type EventPosition, parsePosition, readEvents } from '@corral/cluster-data';
import type { ClusterOperationId } from '@corral/contracts';
import { scopeOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import pLimit from 'p-limit';
import { personCallerOf, sessionCookieOf } from '../http/caller.js';
import { concurrencyLimit, teamConcurrencyLimit } from '../http/limits.js';
import { invalidField } from '../problem.js';
import type { Services } from '../services.js';
import { renderEvents, teamFeed } from './feed.js';
import { type EventTeam, findTeamsWithEvents, readBodies } from './store.js';
import { eventStreams, type StreamSink } from './streams.js';

/** Number of events per read. */
const PAGE = 100;
/** Concurrent reads of events, limited so that requests find free database connections. */
const READINGS_AT_ONCE = 3;

/** The handler of event streams. */
export function eventRoutes({ config, prisma, sessions, eventNotifications, health, metrics, log }: Services) {
  const { heartbeatMs, retryMs, limits } = config.events;
  const reads = pLimit(READINGS_AT_ONCE);
  const ofTeam = teamConcurrencyLimit(limits, 'Streams of events');
  const ofPerson = concurrencyLimit(limits.perPerson, 'Streams of events of this person');

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
  const streams = eventStreams({
    startFeed,
    findTeamsWithEvents: (ends) => reads(() => findTeamsWithEvents(prisma, ends)),
    findSession: (secret) => sessions.find(secret),
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
      const { team, userId, role } = personCallerOf(res);
      const secret = sessionCookieOf(req) as string;
      const after = lastEventIdOf(req);
      if (req.method === 'HEAD') {
        sendStreamHead(res);
        res.end();
        return;
      }
      const follower = { team, viewer: { userId, role }, secret, after };
      const stream = async (): Promise<void> => {
        const leave = await streams.follow(follower, () => openAnswer(res));
        await outside(scopeOf(res), () => untilClosed(res));
        leave();
      };
      await ofPerson(userId, () => ofTeam(team.id, stream));
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
