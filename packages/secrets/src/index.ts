export { KeyRing } from './key-ring.js';
export { secretKeys } from './secret-keys.js';
