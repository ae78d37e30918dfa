import type { Writable } from 'node:stream';
import winston from 'winston';
import { LineBatch } from './line-batch.js';
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

/** Writes one line of JSON per call, redacted, in one write per turn of the event loop. */
export function createLog({ level = 'info', service, destination = process.stdout }: LogOptions): RootLog {
  const batch = new LineBatch(destination, (lines) => renderLine('warn', 'log lines dropped', service, { lines }));
  // Its own `log` would schedule an immediate per line, which costs more than rendering the line.
  const writeLine = (line: object, next: () => void): void => {
    batch.add((line as FinishedLine)[MESSAGE]);
    next();
  };
  const transports = [new winston.transports.Stream({ stream: destination, log: writeLine })];
  // Redaction and rendering are one step, because winston's chain of formats copies each line several times.
  const format = { transform: (line: winston.Logform.TransformableInfo) => line };
  const logger = winston.createLogger({ level, levels: winston.config.npm.levels, format, transports });
  const enabled = new Set<LogLevel>(logLevels.slice(0, logLevels.indexOf(level) + 1));

  const logWith = (bound: LogFields): Log => {
    const at = (lineLevel: LogLevel) => {
      if (!enabled.has(lineLevel)) return () => {};
      return (message: string, fields?: LogFields): void => {
        const line = { level: lineLevel, message, [MESSAGE]: renderLine(lineLevel, message, service, bound, fields) };
        logger.log(line);
      };
    };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => logWith({ ...bound, ...fields }),
    };
  };
  return { ...logWith({}), flush: () => batch.flush() };
}

/** A log that writes nothing, for code that is called without one. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog };

/** Where winston's transports look for the finished line. */
const MESSAGE: unique symbol = Symbol.for('message') as never;
interface FinishedLine {
  readonly [MESSAGE]: string;
}

const headNames = ['time', 'level', 'service', 'message'] as const;

/** The head is rendered separately: merging it with the fields took three times as long as everything else. */
function renderLine(level: LogLevel, message: string, service: string, bound: LogFields, fields?: LogFields): string {
  const clean = redactFields(bound, fields);
  for (const name of headNames) {
    if (!(name in clean)) continue;
    clean[`field_${name}`] = clean[name]; // a field can neither forge nor hide what the line says of itself
    delete clean[name];
  }
  const head = `"time":"${new Date().toISOString()}","level":"${level}","service":${JSON.stringify(service)}`;
  const text = JSON.stringify(redactText(message));
  const tail = JSON.stringify(clean);
  return tail === '{}' ? `{${head},"message":${text}}` : `{${head},"message":${text},${tail.slice(1)}`;
}
