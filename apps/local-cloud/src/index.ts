export type { ForcedRrset, LocalCloudAdmin, ZoneContents } from './admin/admin.js';
export type { BudgetState } from './dns/budget.js';
export type { ZoneOptions } from './dns/dns-project.js';
export type { ExtraFields } from './dns/http/bodies.js';
export type { DnsRecord, Rrset, Write } from './dns/model.js';
export type { Calls } from './faults/call-counts.js';
export type { FaultEffect, FaultMatch, FaultRule, HeldFault } from './faults/fault-rules.js';
export { type LocalCloud, type LocalCloudOptions, startLocalCloud } from './start-local-cloud.js';
