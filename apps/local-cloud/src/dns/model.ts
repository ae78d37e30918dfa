/** Every type the upstream knows. Some of them are stored and listed but cannot be asked for over DNS. */
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
  /** Empty when none was given. */
  readonly comment: string;
}

export type Labels = Readonly<Record<string, string>>;

/** All records of one name and type. Never changed in place. */
export interface Rrset {
  readonly name: string;
  readonly type: string;
  /** Seconds; null means that the zone's TTL applies. */
  readonly ttl: number | null;
  readonly labels: Labels;
  readonly protection: { readonly change: boolean };
  readonly records: readonly DnsRecord[];
  /** Position in the order of creation, for `sort=created`. */
  readonly createdSeq: number;
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

/** The status is not stored: it follows from the time and `finishesAt`. */
export interface Action {
  readonly id: number;
  readonly command: string;
  readonly zoneId: number;
  readonly startedAt: number;
  readonly finishesAt: number;
  /** How it ends; null is success. */
  readonly error: ActionError | null;
}

/** A mutation that was accepted, in the order of acceptance. */
export interface Write {
  readonly seq: number;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly body: unknown;
  /** Null for the one write without an action: PUT of labels. */
  readonly actionId: number | null;
  /** Set when a fault made the action fail: the write then had no effect. */
  readonly actionError: ActionError | null;
}
