import type { BudgetReading, BudgetStore, CallClass, Lack, RequestScope, TurnTaken } from '@corral/admission';

/** The door of this package as types: what callers may ask of the upstream, and everything that may come of it. */

/** The part of a logger that is needed: messages are constant, and neither the token nor a body is among the fields. */
export interface HcloudLog {
  error(message: string, fields?: Record<string, unknown>): unknown;
  warn(message: string, fields?: Record<string, unknown>): unknown;
}

/** One HTTP call, for metrics: every value comes from a small set, so each may be a label. */
export interface UpstreamCall {
  /** method and path pattern, e.g. `GET /zones/{zone}/rrsets` */
  route: string;
  /** how the call ended, e.g. `accepted`, `ok`, `absent`, `throttled`, `uncertain` */
  outcome: string;
  ms: number;
}

export interface HcloudOptions {
  /** with the version, e.g. `https://api.hetzner.cloud/v1`; final slashes do not matter */
  baseUrl: string;
  token: string;
  /** longest time of one HTTP call, default 10,000 */
  timeoutMs?: number;
  /** how long after its start a request may still begin a call (waits for budget, pauses, retries), default 8,000 */
  waitMsMax?: number;
  /** how long a read for a sync waits for its turn: it comes last, and a new sync costs more; default 600,000 */
  syncWaitMsMax?: number;
  log: HcloudLog;
  /** where all processes that use the token share its budget; default: this process has it to itself */
  budgetStore?: BudgetStore;
  onCall?: (call: UpstreamCall) => void;
  /** called when a write has its outcome, which may have taken several calls */
  onWrite?: (outcome: WriteOutcome) => void;
  onTurn?: (taken: TurnTaken) => void;
  /** wall clock, for points of time in headers only; durations are measured on the monotonic clock */
  now?: () => number;
}

export interface UpstreamWrite {
  /** on whose account the call goes: teams have their turns one after the other */
  team: string;
  method: 'POST' | 'PUT' | 'DELETE';
  /** path below the base address, not encoded, e.g. `['zones', '7001', 'rrsets', '@', 'TXT']` */
  segments: readonly string[];
  /** sent byte for byte */
  body: Buffer | null;
}

export interface WriteOptions {
  /**
   * The request that it is sent for: it waits until its deadline, where that comes before `waitMsMax`, has no place among the requests
   * that are worked on meanwhile, and counts as one of its waits. Its signal stops what was not sent yet (`unreached`); a call under way
   * runs to its end, for its outcome matters
   */
  scope?: RequestScope;
}

export type WriteOutcome =
  /** 2xx with a JSON object */
  | { kind: 'accepted'; status: number; body: string }
  /** the upstream's own refusal, to be passed on unchanged: nothing happened */
  | { kind: 'refused'; status: number; code: string; body: string }
  /** the upstream's own 5xx error: it may have happened */
  | { kind: 'failed'; status: number; code: string; body: string }
  /** no answer that can be relied upon: it may have happened */
  | { kind: 'uncertain'; reason: string }
  /** surely never arrived */
  | { kind: 'unreached'; reason: string }
  /**
   * no turn within `waitMsMax`: nothing happened, nothing will be sent later. From `resetAt` on a turn is kept for the
   * team for a while. `usedUp` is what lacks: the team's share, while others are served, the whole budget, or places to
   * wait
   */
  | { kind: 'throttled'; retryAfterSeconds: number; resetAt: Date; usedUp: Lack }
  /** the account of the budget is out of reach: nothing happened, nothing will be sent later */
  | { kind: 'no_account' }
  /** the upstream refuses our own token: nothing happened, our fault */
  | { kind: 'credentials_refused'; status: number; code: string };

/** The `body` is the text of the zone object exactly as the upstream wrote it, without the `zone` envelope. */
export type ZoneReading = { kind: 'found'; id: number; name: string; mode: string; body: string } | { kind: 'absent' };

/** The `body` is the text of the rrset object exactly as the upstream wrote it, without the `rrset` envelope. */
type RrsetReading = { kind: 'found'; body: string } | { kind: 'absent' };

export interface RrsetPage {
  /** each `body` is the text of one element exactly as the upstream wrote it */
  rrsets: { name: string; type: string; body: string }[];
  nextPage: number | null;
  totalEntries: number | null;
}

export interface ActionReading {
  id: number;
  status: 'running' | 'success' | 'error';
  /** the text of the action object exactly as the upstream wrote it */
  body: string;
}

export interface ReadOptions {
  /** by which the read has its turn; default `settle` */
  purpose?: Extract<CallClass, 'settle' | 'recheck' | 'sync'>;
  /** stops a wait for a turn: the read rejects, and costs nothing; a call under way runs to its end */
  signal?: AbortSignal;
}

export interface HcloudClient {
  /**
   * Sends one write. It is repeated only while it surely never reached the upstream or was answered 429, and no call
   * begins later than `waitMsMax` after the start: the promise settles within `waitMsMax + timeoutMs`.
   *
   * @throws TypeError when a segment is empty, `.`, `..` or no valid Unicode: nothing is sent
   */
  write(request: UpstreamWrite, options?: WriteOptions): Promise<WriteOutcome>;
  /** @throws UpstreamUnavailable as all reads do, after safe retries */
  readZone(idOrName: string | number, options?: ReadOptions): Promise<ZoneReading>;
  /** @throws UpstreamUnavailable */
  readRrset(zoneId: number, name: string, type: string, options?: ReadOptions): Promise<RrsetReading>;
  /**
   * Reads one page of at most 100 rrsets.
   *
   * @param page counts from 1
   * @throws UpstreamUnavailable, also when the zone is absent: an absent zone is no empty zone
   */
  listRrsets(zoneId: number, page: number, options?: ReadOptions): Promise<RrsetPage>;
  /**
   * Reads actions, 50 per call. Ids that the upstream does not know are missing in the answer.
   *
   * @throws UpstreamUnavailable
   */
  readActions(ids: readonly number[]): Promise<ActionReading[]>;
  /** the budget as this process last knew it */
  budget(): BudgetReading;
  /** Refuses what waits and drops all connections; calls under way end as `uncertain`. Gives back unused budget. */
  close(): Promise<void>;
}

/**
 * The upstream gave no usable answer to a read, after all safe retries.
 *
 * Carries no cause: errors of the HTTP layer may hold the request's headers, and so the token.
 */
export class UpstreamUnavailable extends Error {
  override readonly name = 'UpstreamUnavailable';

  /**
   * @param reason for our log, made of constants, status numbers and error codes
   * @param retryAfterSeconds when the budget is what lacks: how long until there is some
   */
  constructor(
    readonly reason: string,
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(`The upstream DNS API is unavailable: ${reason}`);
  }
}
