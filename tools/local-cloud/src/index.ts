export type { LocalCloudAdmin } from './admin/admin.js';
export type { Server, ServerOptions } from './compute/servers.js';
export { writeZone } from './dns/zones.js';
export type { FaultEffect, FaultRule } from './faults/fault-rules.js';
export type { GardenSettings } from './garden/settings.js';
export { journalOf } from './journal.js';
export { type MailFault, type MailSink, type SunkMail, startMailSink } from './mail-sink.js';
export { type LocalCloud, type LocalCloudOptions, startLocalCloud } from './start-local-cloud.js';
