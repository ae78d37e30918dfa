import { get, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { checkClusterAnswer, type TeamEvent } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { TestTeam, TestUser } from './start-cluster-api.js';

/** One who follows the changes of a team over a real connection. */
export interface Following {
  readonly answer: IncomingMessage;
  /** Everything that has arrived. */
  readonly events: EventSourceMessage[];
  /** Comments and ids without an event. */
  text(): string;
  countChanges(): number;
  /** The changes among them, held against the contract. */
  changes(): TeamEvent[];
  lastId(): string;
  isEnded(): boolean;
  /** Takes nothing off the connection any more. */
  stopReading(): void;
  leave(): void;
}

export interface FollowOptions {
  readonly url: string;
  readonly team: TestTeam;
  /** Default: the team's member. */
  readonly user?: Pick<TestUser, 'cookie'>;
  readonly lastEventId?: string | undefined;
  /** Default: a socket. */
  readonly connect?: () => Duplex;
}

/** @returns once the head of the answer is there */
export async function follow({
  url,
  team,
  user = team.member,
  lastEventId,
  connect,
}: FollowOptions): Promise<Following> {
  const headers = { cookie: user.cookie, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(
      `${url}${team.path('/events/')}`,
      { headers, ...(connect === undefined ? { agent: false } : { createConnection: connect }) },
      resolve,
    ).on('error', reject);
  });
  const events: EventSourceMessage[] = [];
  let text = '';
  let isEnded = false;
  const parser = createParser({ onEvent: (event) => events.push(event) });
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    parser.feed(chunk);
  });
  answer.on('error', () => undefined);
  answer.once('close', () => {
    isEnded = true;
  });
  return {
    ...{ answer, events },
    text: () => text,
    countChanges: () => events.filter(({ event }) => event?.includes('.')).length,
    changes: () =>
      events
        .filter(({ event }) => event?.includes('.'))
        .map(({ id, event, data }) => {
          const change = checkClusterAnswer.teamEvent(JSON.parse(data)) as TeamEvent;
          if (id !== change.id || !event?.endsWith(`.${change.change}`))
            throw new Error(`Head and data differ: ${data}`);
          return change;
        }),
    lastId: () => events.findLast(({ id }) => id !== undefined)?.id as string,
    isEnded: () => isEnded,
    stopReading: () => void answer.pause(),
    leave: () => void answer.destroy(),
  };
}

/** Waits for so many changes. @returns all that have arrived, which must not be more */
export async function untilChanges(following: Following, count: number): Promise<TeamEvent[]> {
  const arrived = () => {
    if (following.countChanges() < count) throw new Error(`${following.countChanges()} of ${count} changes`);
    return true;
  };
  await waitFor(`${count} changes`, arrived);
  return following.changes();
}

export const untilEnded = (following: Following): Promise<true> => waitFor('the stream to end', following.isEnded);
/** Kind, change and name, for comparisons. */
export const tellOf = ({ kind, change, name }: TeamEvent): string => `${kind} ${change} ${name}`;
