import { type Session, sessionCookieOf, sessionOf } from '@corral/auth';
import type { ClusterOperationId } from '@corral/contracts';
import type { RequestHandler, Response } from 'express';
import { atOnce, type Places, placesOfTeams } from '../http/at-once.js';
import { callerOf } from '../http/caller.js';
import { openEventStream, sendEventStreamHead } from '../http/event-stream.js';
import { lastEventIdOf } from '../http/last-event-id.js';
import type { LiveChanges } from '../live/live-changes.js';

export interface StreamLimits extends Places {
  readonly perSession: number;
}

export interface EventRoutesDeps {
  readonly live: Pick<LiveChanges, 'follow'>;
  readonly limits: StreamLimits;
}

export function eventRoutes({ live, limits }: EventRoutesDeps) {
  const ofTeam = placesOfTeams(limits, 'Streams of events');
  const ofSession = atOnce(limits.perSession, 'Streams of events of this session');
  return {
    async streamTeamEvents(req, res) {
      const { team, userId, role } = callerOf(res);
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
        await untilClosed(res);
        open.close();
      };
      await ofSession(sessionId, () => ofTeam(team.id, stream));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

async function untilClosed(res: Response): Promise<void> {
  if (res.closed) return;
  await new Promise<void>((resolve) => {
    res.once('close', resolve);
  });
}
