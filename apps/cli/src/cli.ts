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
}

/** What a command works with. */
export interface Cli extends Printer {
  readonly io: CliIo;
  readonly options: GlobalOptions;
  readonly userAgent: string;
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

export function cliFor(io: CliIo, options: GlobalOptions): Cli {
  const printer = printerFor(io, options.output);
  const path = configPath(io.env);
  const read = () => readConfig(path, printer.note);
  return {
    ...printer,
    io,
    options,
    userAgent: `corral/${versionText}`,
    configPath: path,
    readConfig: read,
    changeConfig: async (change) => writeConfig(path, change(await read())),
    given: async () => ({ env: io.env, config: await read(), context: options.context, team: options.team }),
  };
}
