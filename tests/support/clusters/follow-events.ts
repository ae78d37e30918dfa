import { Agent, get, type IncomingMessage } from 'node:http';
import { checkClusterAnswer, type TeamEvent } from '@corral/contracts';
import { createParser } from 'eventsource-parser';

/** Follows the changes of a team as a client does: when the stream ends, it reconnects after the last change it got. */
export interface Follower {
  /** All changes that arrived on all streams, in order. */
  readonly changes: readonly Pick<TeamEvent, 'id' | 'kind' | 'name'>[];
  isReady(): boolean;
  /** The number of streams so far. */
  streams(): number;
  /** The marks `reset`, and answers that are not streams. */
  readonly surprises: readonly string[];
  stop(): void;
}

export interface FollowerOptions {
  /** The addresses, which are tried in turn. */
  readonly bases: readonly string[];
  readonly team: string;
  readonly cookie: string;
}

const RETRY_MS = 200;

export function followEvents({ bases, team, cookie }: FollowerOptions): Follower {
  const agent = new Agent({ keepAlive: false });
  const changes: Pick<TeamEvent, 'id' | 'kind' | 'name'>[] = [];
  const surprises: string[] = [];
  let lastEventId: string | undefined;
  let streams = 0;
  let turn = 0;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let end: () => void = () => undefined;

  const take = (event: string | undefined, id: string | undefined, data: string): void => {
    if (event === 'end') return;
    if (id !== undefined) lastEventId = id;
    if (event === 'reset') surprises.push('reset');
    if (!event?.includes('.')) return;
    const { kind, name } = JSON.parse(data) as TeamEvent;
    changes.push({ id: id as string, kind, name });
    // Only one in this many is checked, as all carry the same bytes.
    if (changes.length % 50 === 1) checkClusterAnswer.teamEvent(JSON.parse(data));
  };
  const again = (): void => {
    if (isStopped) return;
    turn += 1;
    timer = setTimeout(connect, RETRY_MS);
  };
  const read = (answer: IncomingMessage): void => {
    answer.on('error', () => undefined).once('close', again);
    if (answer.statusCode !== 200) {
      if (answer.statusCode !== 503) surprises.push(String(answer.statusCode));
      answer.resume();
      return;
    }
    streams += 1;
    const parser = createParser({ onEvent: ({ event, id, data }) => take(event, id, data) });
    answer.setEncoding('utf8').on('data', (text: string) => parser.feed(text));
  };
  function connect(): void {
    const headers = { cookie, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) };
    const request = get(`${bases[turn % bases.length]}/api/v1/teams/${team}/events/`, { agent, headers }, (answer) => {
      request.off('error', again);
      request.on('error', () => undefined);
      read(answer);
    });
    request.once('error', again);
    end = () => request.destroy();
  }
  connect();
  return {
    changes,
    surprises,
    isReady: () => lastEventId !== undefined,
    streams: () => streams,
    stop() {
      isStopped = true;
      clearTimeout(timer);
      end();
    },
  };
}
