import type { Labels } from '../labels.js';

/** Every type that the upstream supports. Some are stored and listed but not served over DNS. */
export const rrsetTypes = [
  'A',
  'AAAA',
  'CAA',
  'CNAME',
  'DS',
  'HINFO',
  'HTTPS',
  'MX',
  'NS',
  'PTR',
  'RP',
  'SOA',
  'SRV',
  'SVCB',
  'TLSA',
  'TXT',
] as const;

export type RrsetType = (typeof rrsetTypes)[number];

export const isRrsetType = (type: string): type is RrsetType => (rrsetTypes as readonly string[]).includes(type);

export interface DnsRecord {
  readonly value: string;
  /** Empty if none was given. */
  readonly comment: string;
}

/** All records of one name and type. Immutable. */
export interface Rrset {
  readonly name: string;
  readonly type: string;
  /** Seconds; null uses the zone's TTL. */
  readonly ttl: number | null;
  readonly labels: Labels;
  readonly protection: { readonly change: boolean };
  readonly records: readonly DnsRecord[];
}

export interface ZoneFacts {
  readonly id: number;
  readonly name: string;
  /** RFC 3339. */
  readonly created: string;
  readonly ttl: number;
  readonly labels: Labels;
  /** Absolute, with the final dot. */
  readonly nameServers: readonly string[];
}

export interface ActionError {
  readonly code: string;
  readonly message: string;
}

/** The status is not stored: it follows from the clock and `finishesAt`. */
export interface ActionFacts {
  readonly id: number;
  readonly command: string;
  readonly startedAt: number;
  readonly finishesAt: number;
  /** Final error; null for success. */
  readonly error: ActionError | null;
}

export interface Action extends ActionFacts {
  readonly zoneId: number;
}

/** An accepted mutation. */
export interface Write {
  readonly seq: number;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly body: unknown;
  /** Null for PUT of labels, the only write without an action. */
  readonly actionId: number | null;
  /** Set if a fault made the action fail. The write then had no effect. */
  readonly actionError: ActionError | null;
}
const label = /^[a-z0-9_-]{1,63}$/;

/**
 * Describes what is wrong with the name of a set, relative to its zone. Returns null for a valid name.
 *
 * Only the canonical form is accepted, without normalization: lower case, no final dot, relative to the zone,
 * `@` for the apex, `*` only as the whole first label.
 */
export function nameProblem(name: string, zoneName: string): string | null {
  if (name === '@') return null;
  if (name === '') return 'must not be empty, the apex is @';
  if (name !== name.toLowerCase()) return 'must be lower case';
  if (name.endsWith('.')) return 'must be relative to the zone, without a final dot';
  if (name === zoneName || name.endsWith(`.${zoneName}`)) return 'must not end with the name of the zone';
  const labels = name.split('.');
  const rest = labels[0] === '*' ? labels.slice(1) : labels;
  if (!rest.every((part) => label.test(part))) return `invalid name '${name}'`;
  if (name.length + 1 + zoneName.length > 253) return 'is too long';
  return null;
}

/** The parent of a relative name: `a.b` -> `b` -> `@` -> null. */
export function parentName(name: string): string | null {
  if (name === '@') return null;
  const dot = name.indexOf('.');
  return dot < 0 ? '@' : name.slice(dot + 1);
}
