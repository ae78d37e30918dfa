export * from './adopted-servers.js';
export * from './clusters.js';
export { jsonOf, prismaSelect, selectOf } from './columns.js';
export * from './connections.js';
export * from './cost.js';
export * from './locks.js';
export * from './operations.js';
export * from './teams.js';
export * from './versions.js';
