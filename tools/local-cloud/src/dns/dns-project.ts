import { type Clock, timestamp } from '../clock.js';
import { type Journal, openJournal } from '../journal.js';
import { decideWrite } from './decide-write.js';
import type { Action, ActionError, Rrset, Write, ZoneFacts } from './model.js';
import { actionCommands, type Command } from './parse-command.js';
import { RrsetTable, rrsetId } from './rrset-table.js';

interface ProjectOptions {
  readonly clock: Clock;
  readonly zones: readonly { readonly name: string }[];
  readonly actionMs: number;
  /** Undefined keeps everything in memory. */
  readonly dataDir: string | undefined;
}

export interface HeldZone {
  readonly facts: ZoneFacts;
  /** State after all accepted writes. Visible immediately, even while actions run. */
  readonly table: RrsetTable;
}

export interface WriteOutcome {
  readonly action: Action | null;
  /** The set after the write; null if it is removed. */
  readonly rrset: Rrset | null;
}

const FIRST_ZONE_ID = 7001;
const FIRST_ACTION_ID = 880_001;
const NAME_SERVERS = ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'];

/** The project with the zones: their sets, and actions. */
export class DnsProject {
  readonly #options: ProjectOptions;
  readonly #journal: Journal;
  readonly #zones = new Map<number, HeldZone>();
  readonly #actions = new Map<number, Action>();
  readonly #writes: Write[] = [];
  #lastActionId = FIRST_ACTION_ID - 1;

  constructor(options: ProjectOptions) {
    this.#options = options;
    this.#journal = openJournal(options.dataDir, 'dns.jsonl');
    for (const [key, value] of this.#journal.kept) this.#restore(key, value);
    for (const { name } of options.zones) if (this.findZone(name) === null) this.#createZone(name);
  }

  close(): void {
    this.#journal.close();
  }

  zones(): HeldZone[] {
    return [...this.#zones.values()];
  }

  /** @param reference id or name. Names always contain a dot, so digits alone are an id */
  findZone(reference: string): HeldZone | null {
    if (/^\d+$/.test(reference)) return this.#zones.get(Number(reference)) ?? null;
    return this.zones().find(({ facts }) => facts.name === reference) ?? null;
  }

  findAction(id: number): Action | null {
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
   * @throws ApiError if the rules refuse the write; nothing has changed then
   */
  write(
    zone: HeldZone,
    { name, type }: { name: string; type: string },
    command: Command,
    request: Pick<Write, 'method' | 'path' | 'body'>,
    failure: (ActionError & { readonly afterMs?: number }) | null = null,
  ): WriteOutcome {
    const { table, facts } = zone;
    const current = table.get(name, type);
    const typesAtName = [...table.at(name).keys()];
    const rrset = decideWrite(command, { zoneName: facts.name, name, type, current, typesAtName });
    const action = this.#newAction(zone, command, failure);
    const change = action?.error == null ? this.#changeOf(zone, name, type, rrset, command.kind !== 'put_labels') : [];
    if (action !== null) this.#actions.set(action.id, action);
    this.#journal.keep(...change, ...(action === null ? [] : [[`action ${action.id}`, action] as const]));
    for (const [key, value] of change) this.#restore(key, value, { name, type });
    this.#writes.push({
      seq: this.#writes.length + 1,
      at: timestamp(this.#options.clock.now()),
      ...request,
      zone: facts.name,
      name,
      type,
      actionId: action?.id ?? null,
      actionError: action?.error ?? null,
    });
    return { action, rrset: change.length === 0 ? rrset : table.get(name, type) };
  }

  /** Stores or removes a set without rules or an action, to simulate drift. */
  force(zone: HeldZone, name: string, type: string, next: Rrset | null): Rrset | null {
    const change = this.#changeOf(zone, name, type, next, true);
    this.#journal.keep(...change);
    for (const [key, value] of change) this.#restore(key, value, { name, type });
    return zone.table.get(name, type);
  }

  #newAction(
    { facts }: HeldZone,
    { kind }: Command,
    failure: (ActionError & { readonly afterMs?: number }) | null,
  ): Action | null {
    const command = actionCommands[kind];
    if (command === null) return null;
    const { afterMs = this.#options.actionMs, ...error } = failure ?? {};
    const startedAt = this.#options.clock.now();
    this.#lastActionId += 1;
    return {
      id: this.#lastActionId,
      command,
      zoneId: facts.id,
      startedAt,
      finishesAt: startedAt + afterMs,
      error: failure === null ? null : (error as ActionError),
    };
  }

  /** The set, and the SOA of its zone with a raised serial, as the journal keeps them. */
  #changeOf(
    { facts, table }: HeldZone,
    name: string,
    type: string,
    next: Rrset | null,
    raises: boolean,
  ): [string, Rrset | null][] {
    const keyFor = (id: string): string => `set ${facts.id} ${id}`;
    const soa = name === '@' && type === 'SOA' ? next : table.get('@', 'SOA');
    const changes = new Map([[keyFor(rrsetId(name, type)), next]]);
    if (raises && soa !== null) changes.set(keyFor('@/SOA'), withRaisedSerial(soa, this.#options.clock.now()));
    return [...changes];
  }

  /** @param removed the set that a null value removes */
  #restore(key: string, value: unknown, removed: { name: string; type: string } = { name: '', type: '' }): void {
    const [what, id] = key.split(' ');
    if (what === 'zone') this.#zones.set(Number(id), { facts: value as ZoneFacts, table: new RrsetTable() });
    else if (what === 'set') {
      const { name, type } = (value as Rrset | null) ?? removed;
      this.#zones.get(Number(id))?.table.replace(name, type, value as Rrset | null);
    } else {
      this.#actions.set(Number(id), value as Action);
      this.#lastActionId = Math.max(this.#lastActionId, Number(id));
    }
  }

  #createZone(name: string): void {
    const now = this.#options.clock.now();
    const id = Math.max(FIRST_ZONE_ID - 1, ...this.#zones.keys()) + 1;
    const facts: ZoneFacts = { id, name, created: timestamp(now), ttl: 3600, labels: {}, nameServers: NAME_SERVERS };
    const soa = `${NAME_SERVERS[0]} dns.hetzner.com. ${dayOf(now) * 100} 86400 10800 3600000 3600`;
    const sets = Object.entries({ SOA: [soa], NS: NAME_SERVERS }).map(([type, values]): [string, Rrset] => {
      const records = values.map((value) => ({ value, comment: '' }));
      return [
        `set ${id} @/${type}`,
        { name: '@', type, ttl: null, labels: {}, protection: { change: false }, records },
      ];
    });
    const made: [string, unknown][] = [[`zone ${id}`, facts], ...sets];
    this.#journal.keep(...made);
    for (const [key, value] of made) this.#restore(key, value);
  }
}

/** Position of the serial among the seven fields of an SOA value. */
const SERIAL_FIELD = 2;

/** Raises the serial to the first of the day (`YYYYMMDD00`), or by one if it is already that high. */
function withRaisedSerial(soa: Rrset, nowMs: number): Rrset {
  const raised = (value: string): string => {
    const fields = value.split(' ');
    fields[SERIAL_FIELD] = String(Math.max(Number(fields[SERIAL_FIELD]) + 1, dayOf(nowMs) * 100));
    return fields.join(' ');
  };
  return { ...soa, records: soa.records.map((record) => ({ ...record, value: raised(record.value) })) };
}

const dayOf = (nowMs: number): number => Number(timestamp(nowMs).slice(0, 10).replaceAll('-', ''));
