import { type OptionalVariable, type RequiredVariable, refuseValue, type Variable, variable } from '@corral/service';
import { type Key, KeyRing } from './key-ring.js';

const KEY_BYTES = 32;
const wellFormedId = /^[A-Za-z0-9._-]{1,32}$/;

interface Declared {
  desc: string;
  requiredWhen?: (config: Record<string, unknown>) => boolean;
}

/**
 * The variable that lists the keys: comma-separated `name:base64`, newest first. Required; `default: undefined` makes
 * it optional.
 */
export function secretKeys(spec: Declared & { default: undefined }): OptionalVariable<KeyRing>;
export function secretKeys(spec: Declared): RequiredVariable<KeyRing>;
export function secretKeys(spec: Declared): Variable<KeyRing> {
  const expected = 'a comma-separated list of name:key, the newest first, with 32 random bytes in base64 as each key';
  return variable(spec, { type: 'secret', expected, hidden: true }, parseKeyRing);
}

function parseKeyRing(text: string): KeyRing {
  const [first, ...others] = text.split(',').map((entry, index) => parseKey(entry.trim(), index + 1));
  const keys = [first as Key, ...others] as const;
  if (new Set(keys.map(({ id }) => id)).size < keys.length) refuseValue('has the same key name twice');
  return new KeyRing(keys);
}

function parseKey(entry: string, place: number): Key {
  const colon = entry.indexOf(':');
  const id = entry.slice(0, Math.max(0, colon));
  if (!wellFormedId.test(id))
    refuseValue(
      `has no valid key name before the colon of entry ${place} (letters, digits, dots, hyphens, underscores)`,
    );
  const encoded = entry.slice(colon + 1);
  const bytes = Buffer.from(encoded, 'base64');
  // Buffer skips characters outside base64, so a mistyped key would be accepted as a different one.
  const exact = [bytes.toString('base64'), bytes.toString('base64url')].includes(encoded);
  if (!exact || bytes.length !== KEY_BYTES) refuseValue(`does not have ${KEY_BYTES} bytes of base64 in entry ${place}`);
  return { id, bytes };
}
