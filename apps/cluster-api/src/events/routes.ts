import { outside } from '@corral/admission';
import { type Session, sessionCookieOf, sessionOf } from '@corral/auth';
import type { ClusterOperationId } from '@corral/contracts';
import { scopeOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import type { EventConfig } from '../app-config.js';
import { personCallerOf } from '../http/caller.js';
import { concurrencyLimit, teamConcurrencyLimit } from '../http/concurrency-limits.js';
import { invalidField } from '../problem.js';
import { type EventPosition, parsePosition } from './event-position.js';
import type { LiveChanges } from './live-changes.js';
import type { StreamSink } from './live-stream.js';

interface EventRoutesDeps {
  readonly live: Pick<LiveChanges, 'follow'>;
  readonly limits: EventConfig['limits'];
}

export function eventRoutes({ live, limits }: EventRoutesDeps) {
  const ofTeam = teamConcurrencyLimit(limits, 'Streams of events');
  const ofPerson = concurrencyLimit(limits.perPerson, 'Streams of events of this person');
  return {
    async streamTeamEvents(req, res) {
      const { team, userId, role } = personCallerOf(res);
      const { id: sessionId } = sessionOf(res) as Session;
      const secret = sessionCookieOf(req) as string;
      const after = lastEventIdOf(req);
      if (req.method === 'HEAD') {
        sendEventStreamHead(res);
        res.end();
        return;
      }
      const stream = async (): Promise<void> => {
        const open = await live.follow({ team, viewer: { userId, role }, sessionId, secret, after }, () =>
          openEventStream(res),
        );
        await outside(scopeOf(res), () => untilClosed(res));
        open.close();
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

function sendEventStreamHead(res: Response): void {
  res.statusCode = 200;
  res.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  // Proxies must not cache, compress or buffer events.
  res.setHeader('Cache-Control', 'no-store, no-transform');
  res.setHeader('X-Accel-Buffering', 'no');
}

/** Starts an answer that is a stream of events. */
function openEventStream(res: Response): StreamSink {
  sendEventStreamHead(res);
  res.flushHeaders();
  res.on('error', () => undefined); // 'close' follows and is handled
  return {
    write: (bytes) => !res.destroyed && res.write(bytes),
    onDrain: (takesMore) => void res.on('drain', takesMore),
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
