import type { Cloud } from '../cloud.js';
import type { Server, ServerOptions } from '../compute/servers.js';
import type { ExtraFields, Rrset, Write } from '../dns/model.js';
import type { HeldZone } from '../dns/zones.js';
import type { FaultRule, HeldRule } from '../faults/fault-rules.js';
import type { Garden } from '../garden/start-garden.js';
import type { BudgetState } from '../hcloud/budget.js';
import type { Labels } from '../labels.js';
import type { MailSink, SunkMail } from '../mail-sink.js';
import { createGardenAdmin } from './garden-admin.js';

/** A record set stored without any checks. Omitted fields are empty. */
interface ForcedRrset {
  ttl?: number | null;
  labels?: Labels;
  records: readonly { value: string; comment?: string }[];
}

export type LocalCloudAdmin = ReturnType<typeof createAdmin>;

/** Controls of the local cloud for tests and manual experiments. The admin address offers most of them over HTTP. */
export function createAdmin(cloud: Cloud, garden: Garden, mail: MailSink) {
  const { zones, servers, clock, budget, calls, projectTokens } = cloud;
  const getZone = (reference: string): HeldZone => {
    const zone = zones.find(reference);
    if (zone !== null) return zone;
    throw new Error(`There is no zone ${reference}. Name one that the local cloud was started with.`);
  };
  return {
    addFaults: (...rules: FaultRule[]): void => calls.faults.add(...rules),
    faults: (): HeldRule<FaultRule>[] => calls.faults.list(),
    clearFaults: (): void => calls.faults.clear(),
    calls: () => calls.counts(),
    resetCalls: (): void => calls.resetCounts(),
    budget: (): BudgetState => budget.state(clock.now()),
    /** Setting `requestsPerHour` without `remaining` refills the budget. */
    setBudget: (change: { requestsPerHour?: number; remaining?: number }): void => budget.set(change, clock.now()),
    /** Actions, budget, name server and kubeconfigs follow this clock. */
    advanceClock: (ms: number): void => clock.advance(ms),
    /** All zones with their sets, sorted by id, including every accepted write. */
    zones: () => zones.list().map(({ facts, table }) => ({ ...facts, rrsets: table.sorted() })),
    /** Accepted mutations, in order. Forced sets are not included. */
    writes: (): readonly Write[] => zones.writes(),
    /** Stores a set without checking any rule, like a manual change upstream. */
    putRrset(zone: string, name: string, type: string, { ttl = null, labels = {}, records }: ForcedRrset): Rrset {
      const stored = records.map(({ value, comment = '' }) => ({ value, comment }));
      const rrset = { name, type, ttl, labels, protection: { change: false }, records: stored };
      zones.force(getZone(zone), name, type, rrset);
      return rrset;
    },
    deleteRrset: (zone: string, name: string, type: string): void => zones.force(getZone(zone), name, type, null),
    /** From now on the name server has each change so much later, by the clock of the cloud. */
    serveDnsLater: (ms: number): void => zones.serveLater(ms),
    /** Replaces the extra fields that are merged into objects in responses. */
    setExtraFields(extra: ExtraFields): void {
      cloud.extraFields = extra;
    },
    /** A read-only token is refused for every write. */
    addProjectToken: (token: string, { readOnly = false }: { readOnly?: boolean } = {}): void =>
      projectTokens.set(token, readOnly ? 'read-only' : 'known'),
    /** Creates a server in the project of a token. */
    addServer: (token: string, options: ServerOptions = {}): Server =>
      servers.add(projectTokens.projectOf(token), options),
    /** Every server ever created, with its number of rebuilds. */
    servers: (): Server[] => servers.list(),
    /** Changes a server without checking any rule, like a manual change. */
    changeServer: (id: number, change: Omit<ServerOptions, 'id'>): Server => servers.change(id, change),
    /** Received mails, oldest first. */
    mails: (): SunkMail[] => mail.mails(),
    garden: createGardenAdmin(garden),
  };
}
