import { Agent, get, type IncomingMessage } from 'node:http';
import { checkClusterAnswer, type TeamEvent } from '@corral/contracts';
import { createParser } from 'eventsource-parser';

/** One who follows the changes of a team as a client does: whatever ends the stream, it comes back behind what it has. */
export interface Follower {
  /** Of all changes that arrived, in their order, over all streams. */
  readonly changes: readonly Pick<TeamEvent, 'id' | 'kind' | 'name'>[];
  isReady(): boolean;
  /** Streams so far. */
  streams(): number;
  /** The marks `reset`, and answers that are no stream. */
  readonly surprises: readonly string[];
  stop(): void;
}

export interface FollowerOptions {
  /** In the order in which they are tried, in a circle. */
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
    // One in so many: all carry the same bytes.
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
    ...{ changes, surprises },
    isReady: () => lastEventId !== undefined,
    streams: () => streams,
    stop() {
      isStopped = true;
      clearTimeout(timer);
      end();
    },
  };
}
