import type { Session } from '@corral/auth';
import type { TeamId } from '@corral/contracts';
import type { Viewer } from './event.js';
import type { EventPosition } from './event-position.js';
import type { LiveStream } from './live-stream.js';

export interface Team {
  readonly id: TeamId;
  readonly slug: string;
}

export interface Follower {
  readonly team: Team;
  /** As authorized by the request. */
  readonly viewer: Viewer;
  readonly sessionId: string;
  /** The value of the session cookie. */
  readonly secret: string;
  /** Null to start at the current end. */
  readonly after: EventPosition | null;
}

export interface Reader {
  readonly follower: Follower;
  readonly stream: LiveStream;
  viewer: Viewer;
}

function bySession(readers: Iterable<Reader>): Map<string, Reader[]> {
  const groups = new Map<string, Reader[]>();
  for (const reader of readers) {
    const group = groups.get(reader.follower.sessionId);
    if (group === undefined) groups.set(reader.follower.sessionId, [reader]);
    else group.push(reader);
  }
  return groups;
}

/**
 * Keeps the roles of viewers current and ends streams without a right to follow. Each session is looked up once per
 * round, a few at a time. Periodic rounds never overlap.
 */
export function readerChecks(findSession: (secret: string) => Promise<Session | null>, readers: ReadonlySet<Reader>) {
  const AT_ONCE = 4;
  let isChecking = false;

  const checkOne = async (secret: string, of: readonly Reader[]): Promise<void> => {
    // An unavailable database does not end streams: no events can be read then either.
    const session = await findSession(secret).catch(() => undefined);
    if (session === undefined) return;
    const roles = new Map(session?.memberships.map(({ teamId, role }) => [teamId, role]));
    for (const reader of of) {
      const role = roles.get(reader.follower.team.id);
      if (role === undefined) reader.stream.end('session');
      else reader.viewer = { ...reader.viewer, role };
    }
  };
  const check = async (those: Iterable<Reader>): Promise<void> => {
    const waiting = [...bySession(those).values()];
    const work = async (): Promise<void> => {
      for (let of = waiting.pop(); of !== undefined; of = waiting.pop()) {
        await checkOne((of[0] as Reader).follower.secret, of);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  };
  return {
    checkTeam: (teamId: TeamId) => check([...readers].filter(({ follower }) => follower.team.id === teamId)),
    async checkSessions(): Promise<void> {
      if (isChecking) return;
      isChecking = true;
      await check(readers);
      isChecking = false;
    },
  };
}
