import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Platform, platforms } from './single-files.js';

export interface ReleaseArguments {
  readonly version: string;
  readonly out: string;
  /** Those for which single files are made. */
  readonly platforms: readonly Platform[];
}

const usage = `Usage: npm run release -- <version> [--out dist/release] [--platform ${platforms.join('|')}]...

Makes all files of a release from the current commit. With --platform, single files for these systems only.`;

/** @see https://semver.org, without build metadata, which tags of images cannot have */
const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-z-][\da-z-]*)(\.(0|[1-9]\d*|\d*[a-z-][\da-z-]*))*)?$/i;

/** @throws Error with the mistake and the usage */
export function parseReleaseArguments(args: readonly string[], folder: string): ReleaseArguments {
  const { positionals, values } = parsed(args);
  const [version = '', ...rest] = positionals;
  if (!SEMVER.test(version) || rest.length > 0)
    throw refusal(`"${positionals.join(' ')}" is not one version such as 1.0.0 or 1.0.0-rc.1.`);
  const wanted = (values.platform ?? platforms) as Platform[];
  const unknown = wanted.find((name) => !platforms.includes(name));
  if (unknown !== undefined) throw refusal(`There is no platform "${unknown}".`);
  return { version, out: resolve(folder, values.out), platforms: wanted };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { out: { type: 'string', default: 'dist/release' }, platform: { type: 'string', multiple: true } },
    });
  } catch (error) {
    throw refusal((error as Error).message);
  }
}

const refusal = (reason: string): Error => new Error(`${reason}\n\n${usage}`);
