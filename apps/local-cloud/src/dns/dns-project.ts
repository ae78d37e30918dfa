import { type Clock, timestamp } from '../clock.js';
import { actionCommands, type Command } from './command.js';
import { decideWrite } from './decide-write.js';
import type { Journal, JournalEntry, RrsetChange } from './journal.js';
import type { Action, ActionError, Rrset, Write, ZoneFacts } from './model.js';
import { RrsetTable } from './rrset-table.js';
import { bumpSerial, initialSoa } from './soa.js';

export interface ZoneOptions {
  name: string;
  /** Default: the next number that is free. */
  id?: number;
  /** Seconds for sets without a TTL of their own. Default 3600. */
  ttl?: number;
  /** Absolute, with the final dot. Default: the three of the upstream. */
  nameServers?: readonly string[];
}

export interface ProjectOptions {
  readonly clock: Clock;
  readonly zones: readonly ZoneOptions[];
  readonly actionMs: number;
  readonly visibility: 'immediate' | 'on-success';
  /** Null keeps everything in memory only. */
  readonly journal: Journal | null;
}

export interface HeldZone {
  readonly facts: ZoneFacts;
  /** What the accepted writes lead to: new writes are judged by it. */
  readonly written: RrsetTable;
  /** What reads and DNS answers show. The same table when changes are visible at once. */
  readonly visible: RrsetTable;
}

export interface WriteRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

export interface WriteOutcome {
  readonly action: Action | null;
  /** The set as the write leaves it; null when it is gone. */
  readonly rrset: Rrset | null;
}

const FIRST_ZONE_ID = 7001;
const FIRST_ACTION_ID = 880_001;
const NAME_SERVERS = ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'];

/** Holds what the upstream project holds: zones, sets, actions, and the history of writes. */
export class DnsProject {
  readonly #options: ProjectOptions;
  readonly #zones = new Map<number, HeldZone>();
  readonly #idsByName = new Map<string, number>();
  readonly #actions = new Map<number, Action>();
  readonly #writes: Write[] = [];
  /** Changes that become visible when their action ends, in the order of acceptance. */
  #unseen: { readonly visibleAt: number; readonly change: RrsetChange }[] = [];
  #nextActionId = FIRST_ACTION_ID;
  #nextCreatedSeq = 1;
  #nextWriteSeq = 1;

  constructor(options: ProjectOptions) {
    this.#options = options;
    for (const entry of options.journal?.read() ?? []) this.#apply(entry);
    for (const zone of options.zones) if (!this.#idsByName.has(zone.name)) this.#createZone(zone);
    options.journal?.compact(this.#state());
  }

  zones(): HeldZone[] {
    this.#showDue();
    return [...this.#zones.values()];
  }

  /** @param reference the number or the name: names always have a dot, so digits alone are a number */
  findZone(reference: string): HeldZone | null {
    this.#showDue();
    const id = /^\d+$/.test(reference) ? Number(reference) : this.#idsByName.get(reference);
    return (id === undefined ? undefined : this.#zones.get(id)) ?? null;
  }

  findAction(id: number): Action | null {
    return this.#actions.get(id) ?? null;
  }

  actions(): Action[] {
    return [...this.#actions.values()];
  }

  writes(): readonly Write[] {
    return this.#writes;
  }

  /**
   * Performs a write and keeps it before it returns.
   *
   * @param failure makes the action end in this error, after `afterMs` where it is given; the write then has no effect
   * @throws ApiError when the rules refuse it; nothing has changed then
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
    this.#showDue();
    const table = zone.written;
    const target = {
      zoneName: zone.facts.name,
      name,
      type,
      current: table.get(name, type),
      typesAtName: table.typesAt(name),
    };
    const rrset = decideWrite(command, target, this.#nextCreatedSeq);
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
    const change = this.#changeOf(zone, name, type, rrset, servesDns(command));
    this.#keep({ kind: 'change', change, write, ...(action === null ? {} : { action }) });
    return { action, rrset: change.next };
  }

  /** Puts or removes a set by hand, past all rules and without action: what a drifting upstream looks like. */
  force(zone: HeldZone, name: string, type: string, next: Omit<Rrset, 'createdSeq'> | null): Rrset | null {
    const createdSeq = zone.written.get(name, type)?.createdSeq ?? this.#nextCreatedSeq;
    const change = this.#changeOf(zone, name, type, next && { ...next, createdSeq }, true);
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
    const soa = isSoa(name, type) ? next : zone.written.get('@', 'SOA');
    const raised = bump && soa !== null ? withRaisedSerial(soa, this.#options.clock.now()) : null;
    if (raised === null) return { zoneId, name, type, next };
    return isSoa(name, type) ? { zoneId, name, type, next: raised } : { zoneId, name, type, next, soa: raised };
  }

  /** Journal first, then memory: what a reader has seen is never lost. */
  #keep(entry: JournalEntry): void {
    this.#options.journal?.append(entry);
    this.#apply(entry);
  }

  #apply(entry: JournalEntry): void {
    if (entry.kind === 'zone') this.#addZone(entry.zone);
    if (entry.kind === 'counters') {
      this.#nextActionId = Math.max(this.#nextActionId, entry.nextActionId);
      this.#nextCreatedSeq = Math.max(this.#nextCreatedSeq, entry.nextCreatedSeq);
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
    if (entry.kind === 'change') this.#applyChange(entry.change, entry.action?.finishesAt ?? 0);
  }

  #applyChange(change: RrsetChange, visibleAt: number): void {
    const zone = this.#zones.get(change.zoneId);
    if (zone === undefined) return;
    this.#nextCreatedSeq = Math.max(this.#nextCreatedSeq, (change.next?.createdSeq ?? 0) + 1);
    putInto(zone.written, change);
    if (zone.visible === zone.written) return;
    this.#unseen.push({ visibleAt, change });
    this.#showDue();
  }

  /** In order of acceptance, so that a later change is never overtaken by an earlier one. */
  #showDue(): void {
    if (this.#unseen.length === 0) return;
    const now = this.#options.clock.now();
    const waiting = this.#unseen.findIndex(({ visibleAt }) => visibleAt > now);
    const due = waiting < 0 ? this.#unseen.splice(0) : this.#unseen.splice(0, waiting);
    for (const { change } of due) {
      const zone = this.#zones.get(change.zoneId);
      if (zone !== undefined) putInto(zone.visible, change);
    }
  }

  #createZone({ name, id, ttl = 3600, nameServers = NAME_SERVERS }: ZoneOptions): void {
    const now = this.#options.clock.now();
    const zoneId = id ?? Math.max(FIRST_ZONE_ID - 1, ...this.#zones.keys()) + 1;
    if (this.#zones.has(zoneId)) throw new Error(`Zone id ${zoneId} of ${name} is taken. Choose another id.`);
    this.#apply({ kind: 'zone', zone: { id: zoneId, name, created: timestamp(now), ttl, labels: {}, nameServers } });
    const rrset = (type: string, values: readonly string[]): Rrset => ({
      name: '@',
      type,
      ttl: null,
      labels: {},
      protection: { change: false },
      records: values.map((value) => ({ value, comment: '' })),
      createdSeq: this.#nextCreatedSeq,
    });
    for (const [type, values] of [
      ['SOA', [initialSoa(nameServers[0] ?? '.', now)]],
      ['NS', nameServers],
    ] as const) {
      this.#apply({ kind: 'change', change: { zoneId, name: '@', type, next: rrset(type, values) } });
    }
  }

  #addZone(facts: ZoneFacts): void {
    const written = new RrsetTable();
    const visible = this.#options.visibility === 'immediate' ? written : new RrsetTable();
    this.#zones.set(facts.id, { facts, written, visible });
    this.#idsByName.set(facts.name, facts.id);
  }

  /** Everything held, as the shortest journal that leads to it. */
  *#state(): Iterable<JournalEntry> {
    yield {
      kind: 'counters',
      nextActionId: this.#nextActionId,
      nextCreatedSeq: this.#nextCreatedSeq,
      nextWriteSeq: this.#nextWriteSeq,
    };
    for (const { facts, written } of this.#zones.values()) {
      yield { kind: 'zone', zone: facts };
      for (const next of written.sorted()) {
        yield { kind: 'change', change: { zoneId: facts.id, name: next.name, type: next.type, next } };
      }
    }
    for (const action of this.#actions.values()) yield { kind: 'action', action };
    for (const write of this.#writes) yield { kind: 'write', write };
  }
}

const isSoa = (name: string, type: string): boolean => name === '@' && type === 'SOA';

/** Labels and protection are not part of what name servers publish. */
const servesDns = ({ kind }: Command): boolean => kind !== 'put_labels' && kind !== 'change_protection';

function withRaisedSerial(soa: Rrset, nowMs: number): Rrset {
  return { ...soa, records: soa.records.map((record) => ({ ...record, value: bumpSerial(record.value, nowMs) })) };
}

function putInto(table: RrsetTable, { name, type, next, soa }: RrsetChange): void {
  table.replace(name, type, next);
  if (soa !== undefined) table.replace('@', 'SOA', soa);
}
