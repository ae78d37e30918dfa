import { ConfigError } from './config.js';
import { corralVersion } from './corral-version.js';
import { adviceOnDistrust } from './distrust.js';

/** `EX_CONFIG` of sysexits.h: the configuration is wrong, so a restart without a change is pointless. */
const EXIT_CONFIG = 78;

/**
 * Runs the start of a process; with `--version` it prints that instead. On failure one clear text goes to stderr and the process ends: with 78 for a wrong configuration
 * (all variables, no stack), otherwise with 1.
 *
 * @param name of the process, at the start of the text
 */
export async function startOrExit(name: string, start: () => unknown): Promise<void> {
  if (process.argv.includes('--version')) {
    process.stdout.write(`${corralVersion}\n`);
    return;
  }
  try {
    await start();
  } catch (error) {
    process.stderr.write(`${name} cannot start. ${startErrorText(error)}\n`);
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1);
  }
}

function startErrorText(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  const texts: string[] = [];
  for (let link = error, depth = 0; link instanceof Error && depth < 5; link = link.cause, depth += 1) {
    // A connection tried on two addresses fails with an AggregateError, whose own message is empty.
    const parts = link instanceof AggregateError ? link.errors.map(String) : [];
    texts.push([link.message, ...parts].filter((text) => text !== '').join(': '));
  }
  const text = (texts.length > 0 ? texts.join('; because ') : String(error)).replaceAll(/\s*\n\s*/g, ' ');
  return [text, adviceOnDistrust(text)].filter((part) => part !== null).join('. ');
}
