import { EventEmitter } from 'node:events';
import { getPriority, setPriority } from 'node:os';
import type { Tenant } from './neighbours-rig.js';
import { actRudely, type RudeName } from './rude-callers.js';

/**
 * A rude caller as a process of its own: what it costs to be rude is not the polite team's. Elsewhere it has a machine of its
 * own and takes no CPU from the services; here it gets what they leave.
 */
const BEHIND_ALL = 19;
setPriority(Math.min(BEHIND_ALL, getPriority() + 10));
const { name, team, seconds } = JSON.parse(process.env.RUDE ?? '') as { name: RudeName; team: Tenant; seconds: number };
EventEmitter.defaultMaxListeners = 0;
process.stdout.write(JSON.stringify(await actRudely(name, team, seconds)), () => process.exit(0));
