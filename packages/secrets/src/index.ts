export { KeyRing, type Sealed } from './key-ring.js';
export { secretKeys } from './secret-keys.js';
