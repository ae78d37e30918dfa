import { styleText } from 'node:util';
import { stringify } from 'yaml';
import type { CliIo } from '../io.js';

export const outputFormats = ['table', 'json', 'yaml'] as const;
export type OutputFormat = (typeof outputFormats)[number];

type Style = Parameters<typeof styleText>[0];

export interface Printer {
  /** The result: as data, or as the text for people. */
  readonly result: (data: unknown, text: string | (() => string)) => void;
  /** What is no result, on standard error. */
  readonly note: (text: string) => void;
  /** What people have to read, on standard error, also with `--quiet`: what went wrong, or what they are to do. */
  readonly alert: (text: string) => void;
  /** Text as it is, on standard output. */
  readonly raw: (text: string) => void;
  /** Colours the text if the terminal of the results shows colours. */
  readonly style: (style: Style, text: string) => string;
}

export const dataText = (format: Exclude<OutputFormat, 'table'>, data: unknown): string =>
  format === 'json' ? `${JSON.stringify(data, null, 2)}\n` : stringify(data);

export function printerFor({ out, err, env, isQuiet = false }: CliIo, format: OutputFormat): Printer {
  const hasColours = out.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  return {
    result(data, text) {
      if (format !== 'table') out.write(dataText(format, data));
      else out.write(typeof text === 'function' ? text() : text);
    },
    note: (text) => void (isQuiet || err.write(`${text}\n`)),
    alert: (text) => void err.write(`${text}\n`),
    raw: (text) => void out.write(text),
    style: (style, text) => (hasColours ? styleText(style, text, { validateStream: false }) : text),
  };
}
