export * from './apply.js';
export * from './export-formats.js';
export * from './leftovers.js';
export * from './plan.js';
export * from './pointing.js';
export * from './record-set-api.js';
export * from './zone-file-plan.js';
