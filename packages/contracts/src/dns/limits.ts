import { type BodyLimits, bodyDepth } from '../body-limits.js';

/**
 * The limits of the DNS record API, as its documentation states them. Request limits and quotas are the defaults
 * of the gateway's configuration; the others are part of the wire contract and cannot be configured.
 */
export const dnsLimits = {
  /** Records of a team, counted over all its record sets. */
  recordsPerTeam: 200,
  recordsPerRrset: 50,
  /** Length of one record value in Unicode code points. */
  valueCharacters: 4096,
  activeTokensPerTeam: 5,
  requestsPerTokenPerMinute: 120,
  requestsPerTeamPerMinute: 600,
  /** Counted before a token is checked; what turns out to have a good one is given back. */
  requestsPerAddressPerMinute: 300,
  /** A write waits for so long at most: for its token's and its team's rate, its record set, the upstream's budget. */
  writeWaitMs: 10_000,
  waitingWritesPerToken: 64,
  /** A read of one record set waits for its rate, for so long at most: longer than writes, so that these leave it room. */
  readWaitMs: 15_000,
  /** Fewer than what writes are promised in their time, so that reads leave room to writes. */
  waitingReadsPerToken: 16,
  /** Reading an action that runs waits for its end, for so long at most. */
  actionHoldMs: 3_000,
  heldReadsPerToken: 64,
  perPageDefault: 25,
  perPageMax: 50,
  /** Of one record, in Unicode code points. */
  commentCharacters: 1024,
  /** In one request; more than `recordsPerRrset` of them are told so by that limit. */
  recordsPerRequest: 1_000,
  /** Of name and type of a new record set: what is no name is judged as one, and a URL can hold no more. */
  identityCharacters: 16_384,
  labelsPerRrset: 100,
  /** A prefix that is a DNS name, a slash, and a name. */
  labelKeyCharacters: 317,
  labelValueCharacters: 63,
  labelCharacters: 63,
  /** Full name, zone included (RFC 1035 section 2.3.4, in presentation format without the final dot). */
  fullNameCharacters: 253,
  /** Ids in one request for actions; clients of the upstream send up to 30. */
  actionIdsPerRequest: 100,
  /** Demos of a team that live at the same time. */
  demosPerTeam: 10,
  /** Demos of a course that live at the same time, unless the course has a limit of its own. */
  demosPerCourse: 20,
  /** Of those, demos that one address may have made, unless the course says otherwise: a class may share one. */
  demosPerAddress: 20,
  recordsPerDemo: 20,
  demoTtlSecondsDefault: 14_400,
  demoTtlSecondsMin: 300,
  /** Also the longest time between a demo's creation and its end, however often it is extended. */
  demoTtlSecondsMax: 604_800,
  /** For so long after a demo's end no other one gets its label: caches may still know its records. */
  demoLabelHeldSeconds: 3_600,
  demoNameCharacters: 100,
  courseCodeCharacters: 64,
  /** Longer ones are wrong ones up to here. */
  courseCodeCharactersRead: 2_048,
} as const;

/** What a body may cost before anything in it is looked at. */
export const dnsBodyLimits = {
  recordSets: { bytes: 1_048_576, depth: bodyDepth, entries: 4_000 },
  demos: { bytes: 4_096, depth: bodyDepth, entries: 2_000 },
} as const satisfies Record<string, BodyLimits>;

/** The record types a team may write. Reads show whatever the zone holds at the team's names. */
export const writableTypes = ['A', 'AAAA', 'CNAME', 'TXT'] as const;
export type WritableType = (typeof writableTypes)[number];

export function isWritableType(type: string): type is WritableType {
  return (writableTypes as readonly string[]).includes(type);
}
