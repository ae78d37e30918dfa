import { Agent, type ClientRequest, get } from 'node:http';
import type { BenchApi } from './cluster-rig.js';

export interface Followers {
  /** The number of events on each stream, without those of record sets, several of which may be reported as one. */
  readonly counts: readonly number[];
  /** @throws Error if a stream ended, or its answer was not a stream of events */
  check(): void;
  close(): void;
}

const AT_ONCE = 50;

/** Follows the live changes of the team on this many streams, each on its own connection. */
export async function openFollowers(
  { teamUrl, cookie }: Pick<BenchApi, 'teamUrl' | 'cookie'>,
  streams: number,
): Promise<Followers> {
  const agent = new Agent({ keepAlive: false });
  const requests: ClientRequest[] = [];
  const counts = new Array<number>(streams).fill(0);
  let problem: string | null = null;
  let isClosing = false;

  const follow = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const request = get(`${teamUrl}/events/`, { agent, headers: { cookie } }, (answer) => {
        if (answer.statusCode !== 200) return reject(new Error(`A stream was answered ${answer.statusCode}`));
        const count = eventCounter(() => {
          counts[at] = (counts[at] as number) + 1;
        });
        answer.setEncoding('utf8').on('data', count).once('data', resolve);
        answer
          .on('error', () => undefined)
          .once('close', () => {
            if (!isClosing) problem = 'A stream ended before its time';
          });
      });
      request.on('error', reject);
      requests.push(request);
    });
  for (let at = 0; at < streams; at += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, streams - at) }, (_, index) => follow(at + index)));
  }
  return {
    counts,
    check() {
      if (problem !== null) throw new Error(problem);
    },
    close() {
      isClosing = true;
      for (const request of requests) request.destroy();
    },
  };
}

/** Counts changes that are reported one by one, without `ready` and heartbeats. Lines may arrive in parts. */
function eventCounter(onEvent: () => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) if (/^event: (?!record_set)\w+\.\w+$/.test(line)) onEvent();
  };
}
