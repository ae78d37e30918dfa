import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { bearer } from '../load/load.js';
import { type Team, ZONE } from './scarcity-rig.js';

/** The outcomes of the requests of one team. */
export interface Tally {
  readonly team: string;
  /** The times at which writes were accepted. */
  readonly acceptedAt: number[];
  readonly refusals: Refusal[];
  /** Requests that came at the stated time, and their outcomes. */
  kept: number;
  broken: number;
  /** Answers other than 201 and 429. */
  readonly others: number[];
}

export interface Refusal {
  readonly at: number;
  readonly seconds: number;
  readonly isShare: boolean;
}

/** The end of the load. The interval may change until then. */
export interface Pace {
  readonly until: number;
  readonly everyMs: () => number;
}

interface Answer {
  readonly status: number;
  readonly retryAfter: number;
  readonly text: string;
}

const TIMEOUT_MS = 30_000;

/** The senders: each write goes to another of the gateways, and creates its own record set. */
export function askers(gateways: readonly string[]) {
  const agent = new Agent({ keepAlive: true });
  let sets = 0;

  const write = ({ slug, token }: Team): Promise<Answer> => {
    sets += 1;
    const body = JSON.stringify({ name: `w${sets}.${slug}`, type: 'A', records: [{ value: '192.0.2.1' }] });
    const headers = { ...bearer(token), 'content-type': 'application/json', 'content-length': body.length };
    const url = `${gateways[Math.floor(Math.random() * gateways.length)]}/zones/${ZONE}/rrsets`;
    return new Promise((resolve, reject) => {
      const sent = request(url, { agent, method: 'POST', headers, timeout: TIMEOUT_MS }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        const retryAfter = Number(answer.headers['retry-after'] ?? 0);
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, retryAfter, text }));
        answer.on('error', reject);
      });
      sent.on('timeout', () => sent.destroy(new Error('no answer'))).on('error', reject);
      sent.end(body);
    });
  };

  const note = (tally: Tally, { status, retryAfter, text }: Answer): void => {
    const at = performance.now();
    if (status === 201) tally.acceptedAt.push(at);
    else if (status !== 429) tally.others.push(status);
    else tally.refusals.push({ at, seconds: retryAfter, isShare: /your share/i.test(text) });
  };

  return {
    /** Sends one write at a time, at its rate if that is granted. After a refusal, it comes back at the time in Retry-After. */
    async askPolitely(team: Team, { until, everyMs }: Pace): Promise<Tally> {
      const tally = newTally(team);
      let dueAt = performance.now() + Math.random() * everyMs();
      for (; dueAt < until; dueAt = Math.max(performance.now(), dueAt + everyMs())) {
        await pause(Math.max(0, dueAt - performance.now()));
        for (let isBack = false; performance.now() < until; isBack = true) {
          const answer = await write(team);
          note(tally, answer);
          if (isBack && answer.status === 201) tally.kept += 1;
          if (isBack && answer.status === 429) tally.broken += 1;
          if (answer.status !== 429) break;
          await pause(answer.retryAfter * 1_000);
        }
      }
      return tally;
    },

    /** Sends at a steady rate, whatever the answers are. */
    async flood(team: Team, { until, everyMs }: Pace): Promise<Tally> {
      const tally = newTally(team);
      const sent: Promise<void>[] = [];
      for (let dueAt = performance.now(); dueAt < until; dueAt += everyMs()) {
        await pause(Math.max(0, dueAt - performance.now()));
        sent.push(write(team).then((answer) => note(tally, answer)));
      }
      await Promise.all(sent);
      return tally;
    },

    close: () => agent.destroy(),
  };
}

const newTally = ({ slug }: Team): Tally => ({
  team: slug,
  acceptedAt: [],
  refusals: [],
  kept: 0,
  broken: 0,
  others: [],
});
