import type { Writable } from 'node:stream';
import winston from 'winston';
import { redactFields, redactText } from './redact.js';

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
  const { combine, json } = winston.format;
  const logger = winston.createLogger({
    level,
    levels: winston.config.npm.levels,
    format: combine(
      dropWhileStalled(destination, (lines) => log.warn('log lines dropped', { lines })),
      redacted(service),
      json({ deterministic: false }),
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

/** Where winston's transports look for the level of a line (its package `triple-beam`). */
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
