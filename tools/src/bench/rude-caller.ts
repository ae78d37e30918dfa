import { EventEmitter } from 'node:events';
import type { Tenant } from './neighbours-rig.js';
import { actRudely, type RudeName } from './rude-callers.js';

/** A rude caller as a process of its own: what it costs to be rude is not the polite team's. */
const { name, team, seconds } = JSON.parse(process.env.RUDE ?? '') as { name: RudeName; team: Tenant; seconds: number };
EventEmitter.defaultMaxListeners = 0;
process.stdout.write(JSON.stringify(await actRudely(name, team, seconds)), () => process.exit(0));
