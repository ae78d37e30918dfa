import { isIP } from 'node:net';
import { EnvError, makeExactValidator, type OptionalValidatorSpec, type RequiredValidatorSpec } from 'envalid';

/** Documentation of a variable, for messages and the generated table. */
interface VariableMeta {
  readonly type: string;
  /** Completes the sentence "Expected …". */
  readonly expected: string;
  readonly unit?: string | undefined;
  /** The value is never shown, not even in part: it is a secret, or may contain one, as URLs do. */
  readonly hidden: boolean;
}

interface Declared {
  /** One sentence for operators. */
  desc: string;
  example?: string;
  /** Says when an optional variable is required, depending on the others. Use it with `default: undefined`. */
  requiredWhen?: (config: Record<string, unknown>) => boolean;
}
type Optional = Declared & { default: undefined };
type Required<T> = Declared & { default?: NonNullable<T> };

export type OptionalVariable<T> = OptionalValidatorSpec<T> & { meta: VariableMeta };
export type RequiredVariable<T> = RequiredValidatorSpec<T> & { meta: VariableMeta };
/** A declared variable. `default: undefined` makes it optional; without `default` it is required. */
export type Variable<T> = OptionalVariable<T> | RequiredVariable<T>;
// biome-ignore lint/suspicious/noExplicitAny: a table of variables holds any value types
export type Variables = Record<string, Variable<any>>;

/**
 * Declares a variable of a custom type.
 *
 * @param parse gets the trimmed value; see `refuseValue`
 */
export function variable<T>(spec: Declared, meta: VariableMeta, parse: (input: string) => T): RequiredVariable<T> {
  const validator = makeExactValidator<T>((input) => parse(input.trim()));
  return { ...validator(spec as object), meta };
}

/** Refuses a value. The text follows the name of the variable and must not contain the value. */
export function refuseValue(problem: string): never {
  throw new EnvError(problem);
}

/** Any text. */
export function text(spec: Optional): OptionalVariable<string>;
export function text(spec: Required<string>): RequiredVariable<string>;
export function text(spec: Declared): Variable<string> {
  return variable(spec, { type: 'text', expected: 'text', hidden: false }, (input) => input);
}

/** `true` or `false` (also `1`, `0`, `yes`, `no`, `on`, `off`). */
export function flag(spec: Optional): OptionalVariable<boolean>;
export function flag(spec: Required<boolean>): RequiredVariable<boolean>;
export function flag(spec: Declared): Variable<boolean> {
  return variable(spec, { type: 'flag', expected: 'true or false', hidden: false }, (input) => {
    if (/^(true|1|yes|on)$/i.test(input)) return true;
    if (/^(false|0|no|off)$/i.test(input)) return false;
    return refuseValue('is neither true nor false');
  });
}

/** One of several values. */
export function oneOf<const T extends string>(choices: readonly T[], spec: Optional): OptionalVariable<T>;
export function oneOf<const T extends string>(choices: readonly T[], spec: Required<T>): RequiredVariable<T>;
export function oneOf<const T extends string>(choices: readonly T[], spec: Declared): Variable<T> {
  const expected = `one of ${choices.join(', ')}`;
  return variable(spec, { type: choices.join(' \\| '), expected, hidden: false }, (input) => {
    return choices.find((choice) => choice === input) ?? refuseValue('is not one of the allowed values');
  });
}

interface Range {
  min?: number;
  max?: number;
}

function inRange(value: number, { min = 0, max = Number.MAX_SAFE_INTEGER }: Range): number {
  if (value < min) refuseValue(`is below ${min}`);
  if (value > max) refuseValue(`is above ${max}`);
  return value;
}

function rangeText({ min = 0, max }: Range): string {
  return max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
}

/** A whole number, not negative unless `min` says so. */
export function integer(spec: Optional & Range & { unit?: string }): OptionalVariable<number>;
export function integer(spec: Required<number> & Range & { unit?: string }): RequiredVariable<number>;
export function integer(spec: Declared & Range & { unit?: string }): Variable<number> {
  const meta = { type: 'integer', expected: `a whole number ${rangeText(spec)}`, unit: spec.unit, hidden: false };
  return variable(spec, meta, (input) => {
    return /^-?\d{1,15}$/.test(input) ? inRange(Number(input), spec) : refuseValue('is not a whole number');
  });
}

/** A share of a whole, from 0 to 1. */
export function share(spec: Required<number>): RequiredVariable<number> {
  return variable(spec, { type: 'number', expected: 'a number from 0 to 1', hidden: false }, (input) => {
    const value = /^\d(\.\d{1,9})?$/.test(input) ? Number(input) : Number.NaN;
    return value >= 0 && value <= 1 ? value : refuseValue('is not a number from 0 to 1');
  });
}

const durationUnitsMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A span of time in milliseconds: `250`, `250ms`, `10s`, `5m`, `12h`, `7d`. */
export function durationMs(spec: Optional & Range): OptionalVariable<number>;
export function durationMs(spec: Required<number> & Range): RequiredVariable<number>;
export function durationMs(spec: Declared & Range): Variable<number> {
  const expected = `a duration ${rangeText(spec)} ms, such as 250ms, 10s, 5m, 12h or 7d`;
  return variable(spec, { type: 'duration', expected, unit: 'ms', hidden: false }, (input) => {
    const [, digits, unit = 'ms'] = /^(\d{1,12})(ms|s|m|h|d)?$/.exec(input) ?? refuseValue('is not a duration');
    return inRange(Number(digits) * durationUnitsMs[unit as keyof typeof durationUnitsMs], spec);
  });
}

/** A TCP port; 0 means any free one. */
export function portOrFree(spec: Optional): OptionalVariable<number>;
export function portOrFree(spec: Required<number>): RequiredVariable<number>;
export function portOrFree(spec: Declared): Variable<number> {
  const expected = 'a port from 1 to 65535, or 0 for any free port';
  return variable(spec, { type: 'port', expected, hidden: false }, (input) => {
    return /^\d{1,5}$/.test(input) ? inRange(Number(input), { max: 65_535 }) : refuseValue('is not a port');
  });
}

interface UrlRules {
  /** Allowed protocols without the colon. Default: http and https. */
  protocols?: readonly string[];
}

/** An absolute URL, as text. Never shown in messages, because it may contain a password. */
export function url(spec: Optional & UrlRules): OptionalVariable<string>;
export function url(spec: Required<string> & UrlRules): RequiredVariable<string>;
export function url(spec: Declared & UrlRules): Variable<string> {
  const protocols = spec.protocols ?? ['http', 'https'];
  const expected = `a URL that starts with ${protocols.map((name) => `${name}://`).join(' or ')}`;
  return variable(spec, { type: 'URL', expected, hidden: true }, (input) => {
    const parsed = URL.canParse(input) ? new URL(input) : refuseValue('is not a URL');
    if (!protocols.includes(parsed.protocol.slice(0, -1))) refuseValue('has the wrong protocol');
    if (parsed.host === '' && parsed.search === '') refuseValue('has no host');
    return input;
  });
}

/** A comma-separated list. Values are trimmed and empty values are dropped. */
export function list(spec: Optional): OptionalVariable<readonly string[]>;
export function list(spec: Required<readonly string[]>): RequiredVariable<readonly string[]>;
export function list(spec: Declared): Variable<readonly string[]> {
  return variable(spec, { type: 'list', expected: 'a comma-separated list', hidden: false }, splitList);
}

/** A comma-separated list of allowed values. */
export function wordsOf<const T extends string>(choices: readonly T[], spec: Optional): OptionalVariable<readonly T[]>;
export function wordsOf<const T extends string>(
  choices: readonly T[],
  spec: Required<readonly T[]>,
): RequiredVariable<readonly T[]>;
export function wordsOf<const T extends string>(choices: readonly T[], spec: Declared): Variable<readonly T[]> {
  const expected = `a comma-separated list of ${choices.join(', ')}`;
  return variable(spec, { type: 'list', expected, hidden: false }, (input) =>
    splitList(input).map(
      (word) => choices.find((choice) => choice === word) ?? refuseValue('has a value that is not allowed'),
    ),
  );
}

/** A comma-separated list of web origins, such as `https://cloud.example.org`. */
export function origins(spec: Required<readonly string[]>): RequiredVariable<readonly string[]> {
  const expected = 'a comma-separated list of origins such as https://cloud.example.org, without a path';
  return variable<readonly string[]>(spec, { type: 'list', expected, hidden: false }, (input) =>
    splitList(input).map((word) => {
      const { origin, protocol } = URL.canParse(word)
        ? new URL(word)
        : refuseValue('has an entry that is not an origin');
      const isWeb = protocol === 'http:' || protocol === 'https:';
      return isWeb && origin === word ? origin : refuseValue('has an entry that is not an origin');
    }),
  );
}

/** A comma-separated list of hosts, each with an optional port. */
export function hostsAndPorts(
  spec: Required<readonly HostAndPort[]> & { readonly port: number },
): RequiredVariable<readonly HostAndPort[]> {
  const expected = 'a comma-separated list of names or addresses, each with an optional port, IPv6 in brackets';
  return variable<readonly HostAndPort[]>(spec, { type: 'list', expected, hidden: false }, (input) =>
    splitList(input).map((word) => {
      const { host, hostname, port } = URL.canParse(`dns://${word}`)
        ? new URL(`dns://${word}`)
        : refuseValue('has an entry that is not a host');
      if (host !== word || hostname === '') refuseValue('has an entry that is not a host');
      return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? spec.port : Number(port) };
    }),
  );
}

export interface HostAndPort {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

function splitList(input: string): readonly string[] {
  return input
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

/** A secret: no default, never printed, and too long to guess. `default: undefined` makes it optional. */
export function secret(spec: Optional & { minLength?: number }): OptionalVariable<string>;
export function secret(spec: Declared & { minLength?: number }): RequiredVariable<string>;
export function secret(spec: Declared & { minLength?: number }): Variable<string> {
  const minLength = spec.minLength ?? 16;
  const expected = `a secret of at least ${minLength} characters`;
  return variable(spec, { type: 'secret', expected, hidden: true }, (input) => {
    if (input.length < minLength) refuseValue(`is shorter than ${minLength} characters`);
    return input;
  });
}

/** A value for Express's `trust proxy`: no proxy, the last n proxies, or proxies by address. */
export type TrustProxy = false | number | readonly string[];

/**
 * Proxies that may state the address of a client. `true` is refused: every client could then choose its own address, and with
 * it its rate limit.
 */
export function trustProxy(spec: Required<TrustProxy>): RequiredVariable<TrustProxy> {
  const expected =
    'false, a number of proxies, or a comma-separated list of addresses, networks, loopback, linklocal, uniquelocal';
  return variable<TrustProxy>(spec, { type: 'trust proxy', expected, hidden: false }, (input) => {
    if (input.toLowerCase() === 'false') return false;
    if (input.toLowerCase() === 'true') refuseValue('would let every client choose its own address');
    if (/^\d{1,2}$/.test(input)) return Number(input);
    const proxies = splitList(input);
    if (proxies.length === 0 || !proxies.every(isProxyAddress)) refuseValue('has an entry that is not an address');
    return proxies;
  });
}

function isProxyAddress(word: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(word)) return true;
  const [address = '', prefix, ...rest] = word.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}
