import { createDecipheriv, randomBytes } from 'node:crypto';

export interface ServiceKey {
  readonly id: string;
  readonly bytes: Buffer;
}

/** The keys of stored secrets with which services are started, as an operator changes them. */
export interface ServiceKeys {
  /** The keys, newest first, that services get when they start from now on. */
  give(...keys: readonly ServiceKey[]): void;
  /** The value of `SECRET_KEYS` for a service that starts now. */
  valueFor(service: string): string;
  /** Whether every service was started with the current keys. */
  areEverywhere(): boolean;
}

export const newKey = (number: number): ServiceKey => ({ id: `key-${number}`, bytes: randomBytes(32) });

export const secretKeysValue = (keys: readonly ServiceKey[]): string =>
  keys.map(({ id, bytes }) => `${id}:${bytes.toString('base64')}`).join(',');

export function serviceKeys(first: ServiceKey): ServiceKeys {
  let value = secretKeysValue([first]);
  const startedWith = new Map<string, string>();
  return {
    give: (...keys) => {
      value = secretKeysValue(keys);
    },
    valueFor(service) {
      startedWith.set(service, value);
      return value;
    },
    areEverywhere: () => [...startedWith.values()].every((each) => each === value),
  };
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Opens a stored secret by its documented format, independently of the code that sealed it.
 *
 * @throws Error if it is not what was sealed there
 */
export function openSecret(
  sealed: Buffer,
  { key, owner }: { readonly key: ServiceKey; readonly owner: string },
): string {
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, sealed.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(owner))
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  return decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}
