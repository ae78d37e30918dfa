import type { Clock } from '../clock.js';
import type { Server, ServerOptions } from '../compute/model.js';
import type { Servers } from '../compute/servers.js';
import type { Budget, BudgetState } from '../dns/budget.js';
import type { DnsProject, HeldZone } from '../dns/dns-project.js';
import type { ExtraFields } from '../dns/http/bodies.js';
import type { Labels, Rrset, Write, ZoneFacts } from '../dns/model.js';
import type { CallCounts, Calls } from '../faults/call-counts.js';
import type { FaultRule, FaultRules, HeldFault } from '../faults/fault-rules.js';
import type { Garden } from '../garden/start-garden.js';
import type { MailFault, MailSink, SunkMail } from '../mail/start-mail-sink.js';
import type { ProjectToken, ProjectTokens, TokenOptions } from '../project-tokens.js';
import { createGardenAdmin, type GardenAdmin } from './garden-admin.js';

/** A set that is put in place by hand; what is left out is empty. */
export interface ForcedRrset {
  ttl?: number | null;
  labels?: Labels;
  protection?: { change: boolean };
  records: readonly { value: string; comment?: string }[];
}

export interface ZoneContents extends ZoneFacts {
  readonly recordCount: number;
  /** By id, ascending; what the accepted writes lead to, shown or not. */
  readonly rrsets: readonly Rrset[];
}

/** What tests and people at play can do to the local cloud. The admin address offers the same over HTTP. */
export interface LocalCloudAdmin {
  addFaults(...rules: FaultRule[]): HeldFault[];
  faults(): HeldFault[];
  clearFaults(): void;
  calls(): Calls;
  resetCalls(): void;
  /** A new `requestsPerHour` without `remaining` comes with a full budget. */
  setBudget(change: { requestsPerHour?: number; remaining?: number }): BudgetState;
  budget(): BudgetState;
  /** @returns the new time, RFC 3339 */
  advanceClock(ms: number): string;
  zones(): ZoneContents[];
  /** Accepted mutations in their order. Forced sets are not among them. */
  writes(): readonly Write[];
  /** Puts a set in place past every rule, as if somebody had changed it by hand upstream. */
  putRrset(zone: string, name: string, type: string, rrset: ForcedRrset): Rrset;
  deleteRrset(zone: string, name: string, type: string): void;
  /** Replaces the fields that are added to objects in answers. */
  setExtraFields(extra: ExtraFields): void;
  /** Tokens of projects that are good, those of the zones' project too. */
  projectTokens(): ProjectToken[];
  /** A read-only token is refused where the provider would have to write. */
  addProjectToken(token: string, options?: TokenOptions): void;
  /** From now on the provider answers 401 to this token. */
  rejectToken(token: string): void;
  /** Makes a server in the project of a token. */
  addServer(token: string, options?: ServerOptions): Server;
  /** Every server that was ever made, with how often it was rebuilt. */
  servers(): Server[];
  changeServer(id: number, change: ServerOptions): Server;
  /** Takes a server away, as if somebody had deleted it by hand. */
  vanishServer(id: number): void;
  /** What was sent by mail, oldest first. */
  mails(): SunkMail[];
  clearMails(): void;
  breakMails(fault: MailFault): void;
  readonly garden: GardenAdmin;
}

export interface AdminDeps {
  readonly project: DnsProject;
  readonly servers: Servers;
  readonly clock: Clock;
  readonly budget: Budget;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
  readonly setExtraFields: (extra: ExtraFields) => void;
  readonly projectTokens: ProjectTokens;
  readonly garden: Garden;
  readonly mail: MailSink;
}

export function createAdmin(deps: AdminDeps): LocalCloudAdmin {
  const { project, servers, clock, budget, faults, calls, setExtraFields, projectTokens, garden } = deps;
  const getZone = (reference: string): HeldZone => {
    const zone = project.findZone(reference);
    if (zone === null)
      throw new Error(`There is no zone ${reference}. Name one that the local cloud was started with.`);
    return zone;
  };
  return {
    addFaults: (...rules) => faults.add(rules),
    faults: () => faults.list(),
    clearFaults: () => faults.clear(),
    calls: () => calls.read(),
    resetCalls: () => calls.reset(),
    budget: () => budget.state(clock.now()),
    setBudget(change) {
      budget.set(change, clock.now());
      return budget.state(clock.now());
    },
    advanceClock(ms) {
      clock.advance(ms);
      return new Date(clock.now()).toISOString();
    },
    zones: () => project.zones().map(contentsOf),
    writes: () => project.writes(),
    putRrset(zone, name, type, { ttl = null, labels = {}, protection = { change: false }, records }) {
      const full = records.map(({ value, comment = '' }) => ({ value, comment }));
      return project.force(getZone(zone), name, type, { name, type, ttl, labels, protection, records: full }) as Rrset;
    },
    deleteRrset(zone, name, type) {
      project.force(getZone(zone), name, type, null);
    },
    setExtraFields,
    projectTokens: () => projectTokens.list(),
    addProjectToken: (token, options) => projectTokens.add(token, options),
    rejectToken: (token) => projectTokens.reject(token),
    addServer: (token, options = {}) => servers.add(projectTokens.projectOf(token), options),
    servers: () => servers.list(),
    changeServer: (id, change) => servers.change(id, change),
    vanishServer: (id) => servers.vanish(id),
    mails: () => deps.mail.mails(),
    clearMails: () => deps.mail.clear(),
    breakMails: (fault) => deps.mail.breakNext(fault),
    garden: createGardenAdmin(garden),
  };
}

const contentsOf = ({ facts, written }: HeldZone): ZoneContents => ({
  ...facts,
  recordCount: written.recordCount,
  rrsets: written.sorted(),
});
