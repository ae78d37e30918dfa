import { type BodyLimits, bodyDepth } from '../body-limits.js';

/**
 * How many records a change would have too many; 0 when it fits. What adds nothing always fits, so that who is above a limit can clean
 * up.
 *
 * @param growth how many it adds; negative when it removes some
 * @param held what counts against the limit already
 */
export function recordsOver(growth: number, held: number, limit: number): number {
  return growth <= 0 ? 0 : Math.max(0, held + growth - limit);
}

/**
 * The limits of the DNS record API, as documented. Request limits and quotas are defaults of the gateway's
 * configuration; the others are part of the wire contract and fixed.
 */
export const dnsLimits = {
  /** Records of a team in total over its record sets. */
  recordsPerTeam: 200,
  recordsPerRrset: 50,
  /** Length of one record value in Unicode code points. */
  valueCharacters: 4096,
  /** The upstream's own limits. Its answer decides; plans refuse before it has to. */
  ttlSecondsMin: 60,
  ttlSecondsMax: 2_147_483_647,
  activeTokensPerTeam: 5,
  /** Lifetime of the token of a signed-in person or of a service account. */
  sessionTokenSeconds: 900,
  /** Tokens of one session in one team: one per window of a browser, and those about to expire. */
  activeTokensPerSession: 10,
  /** Tokens by one token of a service account: one for each job that runs at the same time. */
  activeTokensPerAccountToken: 100,
  requestsPerTokenPerMinute: 120,
  requestsPerTeamPerMinute: 600,
  /** Reads of actions that do not wait: polls of actions that have ended. */
  actionReadsPerTokenPerMinute: 300,
  /** Requests without a valid token, charged before it is checked. */
  requestsPerAddressPerMinute: 300,
  /** Maximum wait of a write for its rate limits, its record set and the upstream budget. */
  writeWaitMs: 10_000,
  waitingWritesPerToken: 64,
  /** Maximum wait of a record-set read for its rate limits. Longer than for writes, so that writes take precedence. */
  readWaitMs: 15_000,
  /** Fewer than the writes that fit into their wait, so that reads leave room for writes. */
  waitingReadsPerToken: 16,
  /** How long a read of running actions waits until one of them ends. */
  actionHoldMs: 3_000,
  heldReadsPerToken: 64,
  perPageDefault: 25,
  perPageMax: 50,
  /** Length of one comment in Unicode code points. */
  commentCharacters: 1024,
  /** Records in one request. A request between `recordsPerRrset` and this limit gets the error of that quota. */
  recordsPerRequest: 1_000,
  /**
   * Length of name and type of a new record set. Generous, so that an invalid name is reported as such; a URL cannot be
   * longer.
   */
  identityCharacters: 16_384,
  labelsPerRrset: 100,
  /** A DNS name as prefix, a slash, and a name. */
  labelKeyCharacters: 317,
  labelValueCharacters: 63,
  labelCharacters: 63,
  /** Full name including the zone (RFC 1035 section 2.3.4, in presentation format without the final dot). */
  fullNameCharacters: 253,
  /** Ids in one request for actions. Clients of the upstream send up to 30. */
  actionIdsPerRequest: 100,
  /** Concurrent live demos of a team. */
  demosPerTeam: 10,
  /** Concurrent live demos of a course, unless the course has its own limit. */
  demosPerCourse: 20,
  /** Live demos of a course from one address, unless the course has its own limit. A class may share an address. */
  demosPerAddress: 20,
  recordsPerDemo: 20,
  demoTtlSecondsDefault: 14_400,
  demoTtlSecondsMin: 300,
  /** The longest lifetime that a request may name, and of a demo, extensions included. */
  demoTtlSecondsMax: 604_800,
  /** How long the label of an ended demo stays reserved, since caches may still have its records. */
  demoLabelHeldSeconds: 3_600,
  demoNameCharacters: 100,
  courseCodeCharacters: 64,
  /** Longer codes up to this length are read and treated as wrong. */
  courseCodeCharactersRead: 2_048,
} as const;

/** Bounds of a request body, checked before its contents. */
export const dnsBodyLimits = {
  recordSets: { bytes: 1_048_576, depth: bodyDepth, entries: 4_000 },
  demos: { bytes: 4_096, depth: bodyDepth, entries: 2_000 },
} as const satisfies Record<string, BodyLimits>;
