import type { Action, ActionError } from '../hcloud/answers.js';
import type { Labels } from '../labels.js';

/** Every type that the upstream supports. Some are stored and listed but not served over DNS. */
export const rrsetTypes = [
  ...['A', 'AAAA', 'CAA', 'CNAME', 'DS', 'HINFO', 'HTTPS', 'MX'],
  ...['NS', 'PTR', 'RP', 'SOA', 'SRV', 'SVCB', 'TLSA', 'TXT'],
];

export interface DnsRecord {
  readonly value: string;
  /** Empty if none was given. */
  readonly comment: string;
}

/** All records of one name and type. Immutable. */
export interface Rrset {
  /** Relative to the zone; `@` is the zone itself. */
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

export interface ZoneAction extends Action {
  readonly zoneId: number;
}

/** An accepted mutation. */
export interface Write {
  readonly seq: number;
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

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a future upstream version: merged into every object of that kind in responses. */
export interface ExtraFields {
  zone?: Fields;
  rrset?: Fields;
  record?: Fields;
  action?: Fields;
}

export const rrsetId = (name: string, type: string): string => `${name}/${type}`;

/** The parent of a relative name: `a.b` -> `b` -> `@` -> null. */
export function parentName(name: string): string | null {
  if (name === '@') return null;
  const dot = name.indexOf('.');
  return dot < 0 ? '@' : name.slice(dot + 1);
}

/** The sets of one zone. */
export class RrsetTable {
  readonly #byId = new Map<string, Rrset>();
  #sorted: readonly Rrset[] | null = null;

  get recordCount(): number {
    return this.sorted().reduce((sum, { records }) => sum + records.length, 0);
  }

  get(name: string, type: string): Rrset | null {
    return this.#byId.get(rrsetId(name, type)) ?? null;
  }

  at(name: string): Rrset[] {
    return rrsetTypes.flatMap((type) => this.get(name, type) ?? []);
  }

  /** Whether the name exists in the sense of RFC 4592: it or a name below it has a set. */
  exists(name: string): boolean {
    return name === '@' || this.at(name).length > 0 || this.sorted().some((set) => set.name.endsWith(`.${name}`));
  }

  /** All sets by id, ascending. */
  sorted(): readonly Rrset[] {
    this.#sorted ??= [...this.#byId].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rrset]) => rrset);
    return this.#sorted;
  }

  /** Stores the set under its id, or removes it if `next` is null. */
  replace(id: string, next: Rrset | null): void {
    if (next === null) this.#byId.delete(id);
    else this.#byId.set(id, next);
    this.#sorted = null;
  }
}
