import type { CliIo } from './io.js';
import { type OutputFormat, type Printer, printerFor } from './output/printer.js';
import { type ConfigFile, configPath, readConfig, writeConfig } from './settings/config-file.js';
import type { Given } from './settings/settings.js';

export const versionText = process.env.CORRAL_VERSION ?? 'development';

/** Options that every command takes. */
export interface GlobalOptions {
  readonly context?: string;
  readonly team?: string;
  readonly output: OutputFormat;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** False for `--no-input`. */
  readonly input: boolean;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a command works with. */
export interface Cli extends Printer {
  readonly io: CliIo;
  readonly options: GlobalOptions;
  /** Options of every client of an API: who asks, and what sends the requests, which shows them with `--verbose`. */
  readonly sending: { readonly userAgent: string; readonly fetch: Fetch };
  readonly configPath: string;
  readonly readConfig: () => Promise<ConfigFile>;
  /** Reads the configuration again and replaces it. */
  readonly changeConfig: (change: (config: ConfigFile) => ConfigFile) => Promise<void>;
  /** The configuration, the variables and the options that say where to go. */
  readonly given: () => Promise<Given>;
}

/** Makes the action of a command: gets what it works with first, then the command's own arguments. */
export type WithCli = <A extends unknown[]>(
  action: (cli: Cli, ...args: A) => Promise<void>,
) => (...args: A) => Promise<void>;

export function cliFor(given: CliIo, options: GlobalOptions): Cli {
  const io = { ...given, neverAsks: !options.input || options.quiet === true, isQuiet: options.quiet === true };
  const printer = printerFor(io, options.output);
  const path = configPath(io.env);
  const read = () => readConfig(path, printer.note);
  return {
    ...printer,
    io,
    options,
    sending: { userAgent: `corral/${versionText}`, fetch: options.verbose === true ? shownFetch(io) : fetch },
    configPath: path,
    readConfig: read,
    changeConfig: async (change) => writeConfig(path, change(await read())),
    given: async () => ({ env: io.env, config: await read(), context: options.context, team: options.team }),
  };
}

/** Methods, addresses, answers and times. Headers and bodies have tokens, addresses have none. */
const shownFetch =
  ({ err }: CliIo): Fetch =>
  async (url, init) => {
    const startedAt = performance.now();
    const say = (how: string) =>
      err.write(`${init.method ?? 'GET'} ${url}: ${how}, ${Math.round(performance.now() - startedAt)} ms\n`);
    try {
      const response = await fetch(url, init);
      const requestId = response.headers.get('x-correlation-id');
      say(`${response.status}${requestId === null ? '' : `, request ${requestId}`}`);
      return response;
    } catch (error) {
      say('no answer');
      throw error;
    }
  };
