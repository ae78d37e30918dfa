import { type Clock, timestamp } from '../clock.js';
import { type Journal, openJournal } from '../journal.js';
import { decideWrite } from './decide-write.js';
import type { Action, ActionError, Rrset, Write, ZoneFacts } from './model.js';
import { actionCommands, type Command } from './parse-command.js';
import { RrsetTable } from './rrset-table.js';

interface ProjectOptions {
  readonly clock: Clock;
  readonly zones: readonly { readonly name: string }[];
  readonly actionMs: number;
  /** Undefined keeps everything in memory. */
  readonly dataDir: string | undefined;
}

/** One change of the project, or one part of its state after compaction. */
type JournalEntry =
  | { kind: 'zone'; zone: ZoneFacts }
  | { kind: 'counters'; nextActionId: number; nextWriteSeq: number }
  | { kind: 'action'; action: Action }
  | { kind: 'write'; write: Write }
  | { kind: 'change'; change: RrsetChange; action?: Action; write?: Write };

/** The new state of one set, with the zone's SOA if the serial changed. */
interface RrsetChange {
  readonly zoneId: number;
  readonly name: string;
  readonly type: string;
  readonly next: Rrset | null;
  /** The zone's SOA set after the change; absent if the serial did not change. */
  readonly soa?: Rrset;
}

export interface HeldZone {
  readonly facts: ZoneFacts;
  /** State after all accepted writes. Visible immediately, even while actions run. */
  readonly table: RrsetTable;
}

interface WriteRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

export interface WriteOutcome {
  readonly action: Action | null;
  /** The set after the write; null if it is removed. */
  readonly rrset: Rrset | null;
}

const FIRST_ZONE_ID = 7001;
const FIRST_ACTION_ID = 880_001;
const NAME_SERVERS = ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'];

/** State of the upstream project: zones, sets, actions and the history of writes. */
export class DnsProject {
  readonly #options: ProjectOptions;
  readonly #journal: Journal | null;
  readonly #zones = new Map<number, HeldZone>();
  readonly #idsByName = new Map<string, number>();
  readonly #actions = new Map<number, Action>();
  readonly #writes: Write[] = [];
  #nextActionId = FIRST_ACTION_ID;
  #nextWriteSeq = 1;

  constructor(options: ProjectOptions) {
    this.#options = options;
    this.#journal = options.dataDir === undefined ? null : openJournal(options.dataDir, 'dns.jsonl');
    for (const entry of this.#journal?.entries<JournalEntry>() ?? []) this.#apply(entry);
    for (const { name } of options.zones) if (!this.#idsByName.has(name)) this.#createZone(name);
    this.#journal?.compact(() => Array.from(this.#entries(), (entry) => JSON.stringify(entry)));
  }

  close(): void {
    this.#journal?.close();
  }

  zones(): HeldZone[] {
    return [...this.#zones.values()];
  }

  /** @param reference id or name. Names always contain a dot, so digits alone are an id */
  findZone(reference: string): HeldZone | null {
    const id = /^\d+$/.test(reference) ? Number(reference) : this.#idsByName.get(reference);
    return (id === undefined ? undefined : this.#zones.get(id)) ?? null;
  }

  findAction(id: number): Action | null {
    return this.#actions.get(id) ?? null;
  }

  writes(): readonly Write[] {
    return this.#writes;
  }

  /**
   * Performs a write and persists it before returning.
   *
   * @param failure makes the action end in this error, after `afterMs` if given; the write then has no effect
   * @throws ApiError if the rules refuse the write; nothing has changed then
   */
  write(
    zone: HeldZone,
    { name, type }: { name: string; type: string },
    command: Command,
    request: WriteRequest,
    failure: (ActionError & { readonly afterMs?: number }) | null = null,
  ): WriteOutcome {
    const { afterMs = this.#options.actionMs, ...error } = failure ?? {};
    const actionError = failure === null ? null : (error as ActionError);
    const { table } = zone;
    const target = {
      zoneName: zone.facts.name,
      name,
      type,
      current: table.get(name, type),
      typesAtName: table.typesAt(name),
    };
    const rrset = decideWrite(command, target);
    const action = this.#newAction(command, zone, { error: actionError, ms: afterMs });
    const write: Write = {
      seq: this.#nextWriteSeq,
      at: timestamp(this.#options.clock.now()),
      ...request,
      zone: zone.facts.name,
      name,
      type,
      actionId: action?.id ?? null,
      actionError: action === null ? null : actionError,
    };
    if (action?.error != null) {
      this.#keep({ kind: 'action', action });
      this.#keep({ kind: 'write', write });
      return { action, rrset };
    }
    const change = this.#changeOf(zone, name, type, rrset, command.kind !== 'put_labels');
    this.#keep({ kind: 'change', change, write, ...(action === null ? {} : { action }) });
    return { action, rrset: change.next };
  }

  /** Stores or removes a set without rules or an action, to simulate drift. */
  force(zone: HeldZone, name: string, type: string, next: Rrset | null): Rrset | null {
    const change = this.#changeOf(zone, name, type, next, true);
    this.#keep({ kind: 'change', change });
    return change.next;
  }

  #newAction(command: Command, zone: HeldZone, end: { error: ActionError | null; ms: number }): Action | null {
    const name = actionCommands[command.kind];
    if (name === null) return null;
    const startedAt = this.#options.clock.now();
    const finishesAt = startedAt + end.ms;
    return { id: this.#nextActionId, command: name, zoneId: zone.facts.id, startedAt, finishesAt, error: end.error };
  }

  #changeOf(zone: HeldZone, name: string, type: string, next: Rrset | null, bump: boolean): RrsetChange {
    const zoneId = zone.facts.id;
    const soa = isSoa(name, type) ? next : zone.table.get('@', 'SOA');
    const raised = bump && soa !== null ? withRaisedSerial(soa, this.#options.clock.now()) : null;
    if (raised === null) return { zoneId, name, type, next };
    return isSoa(name, type) ? { zoneId, name, type, next: raised } : { zoneId, name, type, next, soa: raised };
  }

  /** Writes the journal before memory, so that no visible state can be lost. */
  #keep(entry: JournalEntry): void {
    this.#journal?.append(JSON.stringify(entry));
    this.#apply(entry);
  }

  #apply(entry: JournalEntry): void {
    if (entry.kind === 'zone') this.#addZone(entry.zone);
    if (entry.kind === 'counters') {
      this.#nextActionId = Math.max(this.#nextActionId, entry.nextActionId);
      this.#nextWriteSeq = Math.max(this.#nextWriteSeq, entry.nextWriteSeq);
    }
    if ('action' in entry && entry.action !== undefined) {
      this.#actions.set(entry.action.id, entry.action);
      this.#nextActionId = Math.max(this.#nextActionId, entry.action.id + 1);
    }
    if ('write' in entry && entry.write !== undefined) {
      this.#writes.push(entry.write);
      this.#nextWriteSeq = Math.max(this.#nextWriteSeq, entry.write.seq + 1);
    }
    if (entry.kind === 'change') this.#applyChange(entry.change);
  }

  #applyChange({ zoneId, name, type, next, soa }: RrsetChange): void {
    const table = this.#zones.get(zoneId)?.table;
    table?.replace(name, type, next);
    if (soa !== undefined) table?.replace('@', 'SOA', soa);
  }

  #createZone(name: string): void {
    const now = this.#options.clock.now();
    const zoneId = Math.max(FIRST_ZONE_ID - 1, ...this.#zones.keys()) + 1;
    const facts = { id: zoneId, name, created: timestamp(now), ttl: 3600, labels: {}, nameServers: NAME_SERVERS };
    this.#apply({ kind: 'zone', zone: facts });
    const rrset = (type: string, values: readonly string[]): Rrset => ({
      name: '@',
      type,
      ttl: null,
      labels: {},
      protection: { change: false },
      records: values.map((value) => ({ value, comment: '' })),
    });
    for (const [type, values] of [
      ['SOA', [initialSoa(NAME_SERVERS[0] ?? '.', now)]],
      ['NS', NAME_SERVERS],
    ] as const) {
      this.#apply({ kind: 'change', change: { zoneId, name: '@', type, next: rrset(type, values) } });
    }
  }

  #addZone(facts: ZoneFacts): void {
    this.#zones.set(facts.id, { facts, table: new RrsetTable() });
    this.#idsByName.set(facts.name, facts.id);
  }

  /** The whole state, as the shortest journal that restores it. */
  *#entries(): Iterable<JournalEntry> {
    yield {
      kind: 'counters',
      nextActionId: this.#nextActionId,
      nextWriteSeq: this.#nextWriteSeq,
    };
    for (const { facts, table } of this.#zones.values()) {
      yield { kind: 'zone', zone: facts };
      for (const next of table.sorted()) {
        yield { kind: 'change', change: { zoneId: facts.id, name: next.name, type: next.type, next } };
      }
    }
    for (const action of this.#actions.values()) yield { kind: 'action', action };
    for (const write of this.#writes) yield { kind: 'write', write };
  }
}

const isSoa = (name: string, type: string): boolean => name === '@' && type === 'SOA';

function withRaisedSerial(soa: Rrset, nowMs: number): Rrset {
  return { ...soa, records: soa.records.map((record) => ({ ...record, value: bumpSerial(record.value, nowMs) })) };
}

/** Position of the serial among the seven fields of an SOA value. */
const SERIAL_FIELD = 2;

/** The initial SOA value of a new zone. */
export const initialSoa = (nameServer: string, nowMs: number): string =>
  `${nameServer} dns.hetzner.com. ${dayOf(nowMs) * 100} 86400 10800 3600000 3600`;

/** Raises the serial to the first of the day (`YYYYMMDD00`), or by one if it is already that high. */
export function bumpSerial(soaValue: string, nowMs: number): string {
  const fields = soaValue.split(' ');
  const serial = Math.max(Number(fields[SERIAL_FIELD]) + 1, dayOf(nowMs) * 100);
  fields[SERIAL_FIELD] = String(serial);
  return fields.join(' ');
}

function dayOf(nowMs: number): number {
  return Number(new Date(nowMs).toISOString().slice(0, 10).replaceAll('-', ''));
}
