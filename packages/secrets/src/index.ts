export { KeyRing, type Sealed, SecretUnreadable } from './key-ring.js';
export { secretKeys } from './secret-keys.js';
