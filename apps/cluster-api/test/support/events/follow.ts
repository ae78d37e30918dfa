import { get, type IncomingMessage } from 'node:http';
import { checkClusterAnswer, type TeamEvent } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { TestUser } from '../checked-client.js';
import type { TestTeam } from '../start-cluster-api.js';

export interface FollowOptions {
  readonly url: string;
  readonly team: TestTeam;
  /** Default: the team's member. */
  readonly user?: Pick<TestUser, 'cookie'>;
  /** The service account of this token follows instead. */
  readonly token?: string;
  readonly lastEventId?: string | undefined;
}

/** A client that follows a team's events over a real connection. Resolves once the headers of the answer have arrived. */
export async function follow({ url, team, user = team.member, token, lastEventId }: FollowOptions) {
  const caller = token === undefined ? { cookie: user.cookie } : { authorization: `Bearer ${token}` };
  const headers = { ...caller, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}${team.path('/events/')}`, { headers, agent: false }, resolve).on('error', reject);
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
    answer,
    /** All events that have arrived. */
    events,
    /** The raw text of the stream. */
    text: () => text,
    countChanges: () => events.filter(({ event }) => event?.includes('.')).length,
    /** The changes among the events, checked against the contract. */
    changes: (): TeamEvent[] =>
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
    leave: () => void answer.destroy(),
  };
}

export type Following = Awaited<ReturnType<typeof follow>>;

/** Waits for at least `count` changes. @returns all changes that have arrived */
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
export const summaryOf = ({ kind, change, name }: TeamEvent): string => `${kind} ${change} ${name}`;
