/** Suffixes of field names (lower case, without punctuation) whose values are never logged. */
const secretNames = [
  'authorization',
  'token',
  'tokens',
  'password',
  'passwords',
  'passwd',
  'passphrase',
  'secret',
  'secrets',
  'cookie',
  'cookies',
  'sessionid',
  'kubeconfig',
  'credential',
  'credentials',
  'apikey',
  'privatekey',
  'encryptionkey',
  'keyring',
  'userdata',
  'codeverifier',
  'databaseurl',
  'redisurl',
  'connectionstring',
];

const REDACTED = '[redacted]';
const DEPTH_MAX = 8;
const NODES_MAX = 500;
const STRING_MAX = 16_384;
/** Fields of errors that are logged. */
const errorFields = ['code', 'syscall', 'address', 'port', 'status', 'statusCode', 'constraint', 'table'] as const;

// Field names are constants, so each is checked once. The limit is for objects from outside.
const judged = new Map<string, boolean>();

function isSecretName(name: string): boolean {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const secret = secretNames.some((end) => plain.endsWith(end));
  if (judged.size < 5000) judged.set(name, secret);
  return secret;
}

const bearer = /\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi;
const urlPassword = /(:\/\/[^\s:/@]*):[^\s/@]+@/g;
// Our tokens and the upstream's have 64 characters. A digest is as long, but is written with its algorithm.
const longToken = /(?<![A-Za-z0-9])(?<!sha256:)[A-Za-z0-9]{64}(?![A-Za-z0-9])/g;

/** Removes bearer tokens, 64-character tokens and passwords in URLs from a text, and truncates long texts. */
export function redactText(text: string): string {
  if (text.length < 12) return text;
  let clean =
    text.length > STRING_MAX ? `${text.slice(0, STRING_MAX).toWellFormed()}… (${text.length} characters)` : text;
  if (clean.includes(' ')) clean = clean.replace(bearer, `$1 ${REDACTED}`);
  if (clean.includes('@')) clean = clean.replace(urlPassword, `$1:${REDACTED}@`);
  return clean.length < 64 ? clean : clean.replace(longToken, REDACTED);
}

interface Walk {
  nodesLeft: number;
  readonly ancestors: object[];
}

/**
 * Copies log fields for writing: secrets are removed by name and by pattern, errors become plain objects with their causes, and
 * the size is limited. Of equal names the last value wins.
 */
export function redactFields(...parts: readonly (object | undefined)[]): Record<string, unknown> {
  const walk = { nodesLeft: NODES_MAX, ancestors: [] };
  const clean: Record<string, unknown> = {};
  for (const part of parts) if (part !== undefined) redactObject(part, walk, clean);
  return clean;
}

function redactObject(source: object, walk: Walk, clean: Record<string, unknown> = {}): Record<string, unknown> {
  for (const name of Object.keys(source)) {
    const value = (source as Record<string, unknown>)[name];
    if (value === undefined) continue;
    // Numbers and booleans are never secrets, whatever their name.
    const hides = (typeof value === 'string' || (typeof value === 'object' && value !== null)) && isSecretName(name);
    clean[name] = hides ? REDACTED : redactValue(value, walk);
  }
  return clean;
}

function redactValue(value: unknown, walk: Walk): unknown {
  switch (typeof value) {
    case 'string':
      return redactText(value);
    case 'number':
    case 'boolean':
      return value;
    case 'object':
      return value === null ? null : redactNested(value, walk);
    default:
      return redactText(String(value));
  }
}

function redactNested(value: object, walk: Walk): unknown {
  if (walk.ancestors.includes(value)) return '[circular]';
  walk.nodesLeft -= 1;
  if (walk.ancestors.length >= DEPTH_MAX || walk.nodesLeft < 0) return '[cut]';
  walk.ancestors.push(value);
  try {
    return redactByKind(value, walk);
  } catch {
    return '[unreadable]'; // a getter or toJSON that throws must not break the one who logs
  } finally {
    walk.ancestors.pop();
  }
}

function redactByKind(value: object, walk: Walk): unknown {
  if (value instanceof Error) return errorFieldsOf(value, walk);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => redactValue(item, walk));
  if (value instanceof Map || value instanceof Set) return `[${value.constructor.name} of ${value.size}]`;
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON(), walk);
  return redactObject(value, walk);
}

function errorFieldsOf(error: Error, walk: Walk): Record<string, unknown> {
  const clean: Record<string, unknown> = { name: error.name, message: redactText(error.message) };
  for (const field of errorFields) {
    const value = (error as unknown as Record<string, unknown>)[field];
    if (typeof value === 'string' || typeof value === 'number') clean[field] = value;
  }
  if (error.stack !== undefined) clean.stack = redactText(error.stack);
  if (error instanceof AggregateError) clean.errors = redactValue(error.errors, walk);
  // Clients of other services put the request or its answer there, with codes and tokens by names of their own.
  if (error.cause instanceof Error) clean.cause = redactValue(error.cause, walk);
  return clean;
}
