import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, timestamp } from '../clock.js';
import type { ActionError, Body } from '../hcloud/answers.js';
import { journalOf, openJournal } from '../journal.js';
import type { WriteKind } from './decide-write.js';
import { type Rrset, RrsetTable, rrsetId, type Write, type ZoneAction, type ZoneFacts } from './model.js';

export interface HeldZone {
  readonly facts: ZoneFacts;
  /** State after all accepted writes. Visible immediately, even while actions run. */
  readonly table: RrsetTable;
  /** What the name server has, once it has caught up: see {@link Zones.served}. */
  readonly served: RrsetTable;
}

/** What the name server does not have yet. */
interface LateChange {
  readonly at: number;
  readonly zone: HeldZone;
  readonly id: string;
  readonly next: Rrset | null;
}

type Entry = readonly [key: string, value: unknown];

const FILE = 'dns.jsonl';
const zoneEntry = (facts: ZoneFacts): Entry => [`zone ${facts.id}`, facts];
const setEntry = (zoneId: number, name: string, type: string, rrset: Rrset | null): Entry => [
  `set ${zoneId} ${rrsetId(name, type)}`,
  rrset,
];

/** Writes a zone with its sets into a data folder, so that a local cloud has them when it starts. Zones of an earlier run stay. */
export function writeZone(dataDir: string, facts: ZoneFacts, rrsets: readonly Rrset[]): void {
  const path = join(dataDir, FILE);
  if (existsSync(path)) return;
  mkdirSync(dataDir, { recursive: true });
  const entries = [zoneEntry(facts), ...rrsets.map((set) => setEntry(facts.id, set.name, set.type, set))];
  writeFileSync(path, journalOf(entries));
}

const FIRST_ZONE_ID = 7001;
const FIRST_ACTION_ID = 880_001;
const NAME_SERVERS = ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'];

/** The zones of the project with DNS: their sets, and actions. */
export class Zones {
  readonly #journal;
  readonly #zones = new Map<number, HeldZone>();
  readonly #actions = new Map<number, ZoneAction>();
  #lastActionId = FIRST_ACTION_ID - 1;
  readonly #writes: Write[] = [];
  /** Oldest first. */
  #late: LateChange[] = [];
  #servedLaterMs = 0;

  /** @param names created unless the data folder has them */
  constructor(
    private readonly clock: Clock,
    private readonly actionMs: number,
    dataDir: string | undefined,
    names: readonly string[],
  ) {
    this.#journal = openJournal(dataDir, FILE);
    for (const entry of this.#journal.kept) this.#take(entry);
    for (const name of names) if (this.find(name) === null) this.#create(name);
  }

  close(): void {
    this.#journal.close();
  }

  list(): HeldZone[] {
    return [...this.#zones.values()];
  }

  /** From now on the name server serves each change so much later, and all earlier ones. */
  serveLater(ms: number): void {
    this.#servedLaterMs = ms;
    this.#catchUp(Number.POSITIVE_INFINITY);
  }

  /** The zones for the name server. */
  served(): HeldZone[] {
    this.#catchUp(this.clock.now());
    return this.list();
  }

  #catchUp(nowMs: number): void {
    for (const { at, zone, id, next } of this.#late) if (at <= nowMs) zone.served.replace(id, next);
    this.#late = this.#late.filter(({ at }) => at > nowMs);
  }

  /** @param reference id or name. Names always contain a dot, so digits alone are an id */
  find(reference: string): HeldZone | null {
    if (/^\d+$/.test(reference)) return this.#zones.get(Number(reference)) ?? null;
    return this.list().find(({ facts }) => facts.name === reference) ?? null;
  }

  findAction(id: number): ZoneAction | null {
    return this.#actions.get(id) ?? null;
  }

  /** Accepted mutations since the start, in order. */
  writes(): readonly Write[] {
    return this.#writes;
  }

  /**
   * Performs a write and keeps it before returning.
   *
   * @param failure makes the action end in this error, after `afterMs` if given; the write then has no effect
   * @returns the set after the write, null if it is removed, and the action, null for a write without one
   * @throws ApiError if the rules refuse the write; nothing has changed then
   */
  write(
    zone: HeldZone,
    { name, type }: { name: string; type: string },
    { command, decide }: WriteKind,
    request: { method: string; path: string; body: Body | null },
    failure: (ActionError & { readonly afterMs?: number }) | null,
  ): { action: ZoneAction | null; rrset: Rrset | null } {
    const { table, facts } = zone;
    const typesAtName = table.at(name).map((rrset) => rrset.type);
    const rrset = decide({ name, type, current: table.get(name, type), typesAtName }, request.body ?? {});
    const action = command === null ? null : this.#newAction(facts.id, command, failure);
    const hasEffect = action === null || action.error === null;
    const change = hasEffect ? this.#changeOf(zone, name, type, rrset) : [];
    this.#keep(...change, ...(action === null ? [] : [[`action ${action.id}`, action] as const]));
    this.#writes.push({
      seq: this.#writes.length + 1,
      ...request,
      zone: facts.name,
      name,
      type,
      actionId: action?.id ?? null,
      actionError: action?.error ?? null,
    });
    return { action, rrset: hasEffect ? table.get(name, type) : rrset };
  }

  /** Stores or removes a set without rules or an action, to simulate drift. */
  force(zone: HeldZone, name: string, type: string, next: Rrset | null): void {
    this.#keep(...this.#changeOf(zone, name, type, next));
  }

  #newAction(
    zoneId: number,
    command: string,
    failure: (ActionError & { readonly afterMs?: number }) | null,
  ): ZoneAction {
    const id = this.#lastActionId + 1;
    const startedAt = this.clock.now();
    const finishesAt = startedAt + (failure?.afterMs ?? this.actionMs);
    const error = failure && { code: failure.code, message: failure.message };
    return { id, command, zoneId, startedAt, finishesAt, error };
  }

  /** The set, and the SOA of its zone with a raised serial, as the journal keeps them. */
  #changeOf({ facts, table }: HeldZone, name: string, type: string, next: Rrset | null): Entry[] {
    const soa = type === 'SOA' ? null : table.get('@', 'SOA');
    return [setEntry(facts.id, name, type, next), ...(soa === null ? [] : [this.#raised(facts.id, soa)])];
  }

  /** Raises the serial to the first of the day (`YYYYMMDD00`), or by one if it is already that high. */
  #raised(zoneId: number, soa: Rrset): Entry {
    const firstOfDay = dayOf(this.clock.now()) * 100;
    const records = soa.records.map(({ value, ...record }) => {
      const [mname, rname, serial, ...others] = value.split(' ');
      return { ...record, value: [mname, rname, Math.max(Number(serial) + 1, firstOfDay), ...others].join(' ') };
    });
    return setEntry(zoneId, '@', 'SOA', { ...soa, records });
  }

  #keep(...entries: readonly Entry[]): void {
    this.#journal.keep(...entries);
    for (const entry of entries) this.#take(entry);
  }

  #take([key, value]: Entry): void {
    const [what, id, rrset = ''] = key.split(' ');
    if (what === 'zone')
      this.#zones.set(Number(id), {
        facts: value as ZoneFacts,
        table: new RrsetTable(),
        served: new RrsetTable(),
      });
    else if (what === 'set') this.#replace(this.#zones.get(Number(id)), rrset, value as Rrset | null);
    else {
      this.#lastActionId = Number(id);
      this.#actions.set(this.#lastActionId, value as ZoneAction);
    }
  }

  #replace(zone: HeldZone | undefined, id: string, next: Rrset | null): void {
    if (zone === undefined) return;
    zone.table.replace(id, next);
    this.#late.push({ at: this.clock.now() + this.#servedLaterMs, zone, id, next });
    this.#catchUp(this.clock.now());
  }

  #create(name: string): void {
    const now = this.clock.now();
    const id = Math.max(FIRST_ZONE_ID - 1, ...this.#zones.keys()) + 1;
    const facts: ZoneFacts = { id, name, created: timestamp(now), ttl: 3600, labels: {}, nameServers: NAME_SERVERS };
    const soa = `${NAME_SERVERS[0]} dns.hetzner.com. ${dayOf(now) * 100} 86400 10800 3600000 3600`;
    const sets = Object.entries({ SOA: [soa], NS: NAME_SERVERS }).map(([type, values]) => {
      const records = values.map((value) => ({ value, comment: '' }));
      const rrset: Rrset = { name: '@', type, ttl: null, labels: {}, protection: { change: false }, records };
      return setEntry(id, '@', type, rrset);
    });
    this.#keep(zoneEntry(facts), ...sets);
  }
}

const dayOf = (nowMs: number): number => Number(timestamp(nowMs).slice(0, 10).replaceAll('-', ''));
