import type { Writable } from 'node:stream';
import winston from 'winston';

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
function redactFields(...parts: readonly (object | undefined)[]): Record<string, unknown> {
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

export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogFields = Readonly<Record<string, unknown>>;

/** A log. The message is a constant, variable parts are fields; an error goes into the field `error`. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log with fields on every line. */
  child(fields: LogFields): Log;
}

export interface LogOptions {
  /** Default: info. */
  level?: LogLevel;
  /** Name of the process, on every line. */
  service: string;
  /** Destination of the lines. Default: stdout. */
  destination?: Writable;
}

/** The log of a process, with `flush`. */
export interface RootLog extends Log {
  /** Resolves when everything is written, after at most a second. Await it before process.exit. */
  flush(): Promise<void>;
}

const FLUSH_MS_MAX = 1_000;

/** Writes one line of JSON per call, redacted. */
export function createLog({ level = 'info', service, destination = process.stdout }: LogOptions): RootLog {
  // A closed reader must not end the service, which Node.js would do without a listener.
  destination.on('error', () => {});
  const { combine, printf } = winston.format;
  const logger = winston.createLogger({
    level,
    levels: winston.config.npm.levels,
    format: combine(
      dropWhileStalled(destination, (lines) => log.warn('log lines dropped', { lines })),
      redacted(service),
      // Redacted lines have nothing that JSON could not express.
      printf((line) => JSON.stringify(line)),
    ),
    transports: [new winston.transports.Stream({ stream: destination, eol: '\n' })],
  });
  const log = logOf(logger);
  return { ...log, flush: () => flush(destination) };
}

function logOf(logger: winston.Logger): Log {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (logger.isLevelEnabled(level)) logger.log({ level, message, fields });
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => logOf(logger.child(fields)),
  };
}

/** A log that writes nothing, for code that is called without one. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog };

const BACKLOG_BYTES_MAX = 16 * 1024 * 1024;

/**
 * A reader that stalls (a full pipe) must neither block the process nor fill its memory. Beyond a limit, lines are dropped and
 * counted.
 *
 * @param report is called with the number of dropped lines when the reader continues
 */
function dropWhileStalled(destination: Writable, report: (lines: number) => void): winston.Logform.Format {
  let dropped = 0;
  destination.on('drain', () => {
    if (dropped === 0) return;
    const lines = dropped;
    dropped = 0;
    report(lines);
  });
  return winston.format((line) => {
    if (destination.writableLength <= BACKLOG_BYTES_MAX) return line;
    dropped += 1;
    return false;
  })();
}

/** What the line says of itself, and the mark by which winston's transports leave a line out. */
const reservedNames = ['time', 'level', 'service', 'message', 'exception'];

/** Puts what the line says of itself first. No field can forge or hide it, and none shows a secret. */
function redacted(service: string): winston.Logform.Format {
  return winston.format(({ level, message, fields, ...bound }) => {
    const clean = redactFields(bound, fields as LogFields | undefined);
    for (const name of reservedNames) {
      if (!(name in clean)) continue;
      clean[`field_${name}`] = clean[name];
      delete clean[name];
    }
    const head = { time: new Date().toISOString(), level, service, message: redactText(String(message)) };
    return Object.assign(head, clean, { [LEVEL]: level });
  })();
}

/** The key under which winston's transports look for the level of a line (its package `triple-beam`). */
const LEVEL = Symbol.for('level');

/** Resolves when the destination has taken every line, or after a second. Never rejects. */
async function flush(destination: Writable): Promise<void> {
  if (destination.writableLength === 0) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, FLUSH_MS_MAX);
    destination.write('', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
