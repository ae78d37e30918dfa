import type { FaultRule } from '../../system/local-cloud.js';

/** Something that happens to the calls which the gateway makes for a client. Each is over after a fixed number of calls. */
export interface Trouble {
  /** A heading of the generated table. */
  readonly name: string;
  readonly rules: readonly FaultRule[];
}

const write = { api: 'hcloud', method: 'POST', path: '/rrsets' };
const deletion = { api: 'hcloud', method: 'DELETE', path: '/rrsets' };
const poll = { api: 'hcloud', method: 'GET', path: '/actions' };

const onWrites = (times: number, effect: FaultRule['effect']): FaultRule[] =>
  [write, deletion].map((match) => ({ match, times, effect }));

/** They are drawn for every step of a story anew, so that creations, changes and deletions all meet them. */
export const troubles: readonly Trouble[] = [
  {
    name: 'slow answers',
    rules: [...onWrites(4, { delayMs: 700 }), { match: poll, times: 2, effect: { delayMs: 700 } }],
  },
  {
    name: 'errors 5xx',
    rules: [
      ...onWrites(1, { status: 503, code: 'unavailable', message: 'injected fault' }),
      ...onWrites(1, { status: 502, perform: true }),
      { match: poll, times: 1, effect: { status: 500 } },
    ],
  },
  {
    name: 'dropped connections',
    rules: [
      ...onWrites(1, { reset: 'before' }),
      ...onWrites(1, { reset: 'after' }),
      ...onWrites(1, { truncate: true }),
      { match: poll, times: 1, effect: { reset: 'after' } },
    ],
  },
  {
    name: 'a spent budget',
    rules: onWrites(2, { status: 429, code: 'rate_limit_exceeded', message: 'injected fault', retryAfter: 1 }),
  },
];

export const STORY = 'create, change, delete';
export const NEAR_QUOTA = 'near the quota';

/** What each client is shown to do, in the order of the page. */
export const partNames: readonly string[] = [STORY, ...troubles.map(({ name }) => name), NEAR_QUOTA];
