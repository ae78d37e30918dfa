import type { Server, ServerOptions } from '../compute/model.js';
import type { DnsApiDeps, ExtraFields } from '../dns/bodies.js';
import type { HeldZone } from '../dns/dns-project.js';
import type { Rrset, Write } from '../dns/model.js';
import type { Calls } from '../faults/call-counts.js';
import type { FaultRule, HeldFault } from '../faults/fault-rules.js';
import type { Garden } from '../garden/start-garden.js';
import type { BudgetState } from '../hcloud/budget.js';
import type { Labels } from '../labels.js';
import type { MailSink, SunkMail } from '../mail-sink.js';
import type { TokenOptions } from '../project-tokens.js';
import { createGardenAdmin } from './garden-admin.js';

/** A record set stored without any checks. Omitted fields are empty. */
export interface ForcedRrset {
  ttl?: number | null;
  labels?: Labels;
  records: readonly { value: string; comment?: string }[];
}

export interface AdminDeps extends Omit<DnsApiDeps, 'nodesIn' | 'tokens' | 'extraFields'> {
  readonly setExtraFields: (extra: ExtraFields) => void;
  readonly garden: Garden;
  readonly mail: MailSink;
}

export type LocalCloudAdmin = ReturnType<typeof createAdmin>;

/** Controls of the local cloud for tests and manual experiments. The admin address offers the same over HTTP. */
export function createAdmin(deps: AdminDeps) {
  const { project, servers, clock, budget, faults, calls, projectTokens } = deps;
  const getZone = (reference: string): HeldZone => {
    const zone = project.findZone(reference);
    if (zone === null)
      throw new Error(`There is no zone ${reference}. Name one that the local cloud was started with.`);
    return zone;
  };
  return {
    addFaults: (...rules: FaultRule[]): HeldFault[] => faults.add(rules),
    faults: (): HeldFault[] => faults.list(),
    clearFaults: (): void => faults.clear(),
    calls: (): Calls => calls.read(),
    resetCalls: (): void => calls.reset(),
    budget: (): BudgetState => budget.state(clock.now()),
    /** Setting `requestsPerHour` without `remaining` refills the budget. */
    setBudget(change: { requestsPerHour?: number; remaining?: number }): BudgetState {
      budget.set(change, clock.now());
      return budget.state(clock.now());
    },
    /** @returns the new time, RFC 3339 */
    advanceClock(ms: number): string {
      clock.advance(ms);
      return new Date(clock.now()).toISOString();
    },
    /** All zones with their sets, sorted by id, including every accepted write. */
    zones: () =>
      project.zones().map(({ facts, table }) => ({
        ...facts,
        recordCount: table.recordCount,
        rrsets: table.sorted(),
      })),
    /** Accepted mutations, in order. Forced sets are not included. */
    writes: (): readonly Write[] => project.writes(),
    /** Stores a set without checking any rule, like a manual change upstream. */
    putRrset(zone: string, name: string, type: string, rrset: ForcedRrset): Rrset {
      const { ttl = null, labels = {} } = rrset;
      const protection = { change: false };
      const records = rrset.records.map(({ value, comment = '' }) => ({ value, comment }));
      return project.force(getZone(zone), name, type, { name, type, ttl, labels, protection, records }) as Rrset;
    },
    deleteRrset(zone: string, name: string, type: string): void {
      project.force(getZone(zone), name, type, null);
    },
    /** Replaces the extra fields that are merged into objects in responses. */
    setExtraFields: deps.setExtraFields,
    /** A read-only token is refused for every write. */
    addProjectToken: (token: string, options?: TokenOptions): void => projectTokens.add(token, options),
    /** The provider answers 401 to this token from now on. */
    rejectToken: (token: string): void => projectTokens.reject(token),
    /** Creates a server in the project of a token. */
    addServer: (token: string, options: ServerOptions = {}): Server =>
      servers.add(projectTokens.projectOf(token), options),
    /** Every server ever created, with its number of rebuilds. */
    servers: (): Server[] => servers.list(),
    changeServer: (id: number, change: Omit<ServerOptions, 'id' | 'image'>): Server => servers.change(id, change),
    /** Removes a server, like a manual deletion at the provider. */
    vanishServer: (id: number): void => servers.vanish(id),
    /** Received mails, oldest first. */
    mails: (): SunkMail[] => deps.mail.mails(),
    garden: createGardenAdmin(deps.garden),
  };
}
