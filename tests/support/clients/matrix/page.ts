import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { markdownTable } from '@corral/testing';
import { repository } from '../../system/program.js';
import { partNames } from './faults.js';
import { type ClientRow, clientRows, runsOf } from './rows.js';
import type { Runs } from './stories.js';

const clients = join(repository, 'tests', 'clients');

/** How to write the page anew. */
export const HOW = 'CORRAL_WRITE_DOCS=1 npm test -- tests clients-page';

/**
 * Fills the marked regions of the page: `<!-- clients -->` with how each client ends, `<!-- snippet: <file> -->` with a
 * file of `tests/clients` that a test runs, or with a region of it (`<file>#<name>`). Each region ends with `<!-- end -->`.
 */
export function fillPage(page: string): string {
  return page.replace(
    /<!-- (clients|snippet: (\S+)) -->\n[\s\S]*?<!-- end -->/g,
    (_, kind: string, source?: string) => {
      const content = source === undefined ? resultsTable(clientRows) : snippet(source);
      return `<!-- ${kind} -->\n\n${content}\n\n<!-- end -->`;
    },
  );
}

function resultsTable(rows: readonly ClientRow[]): string {
  const lines = rows.map((row) => {
    const parts = partNames.map((name) => cells[runsOf(row, name)]);
    return [row.title, pinnedVersion(row), ...parts, '`npm run test:long -- clients`', row.needs, row.proves];
  });
  return markdownTable(['client', 'version', ...partNames, 'shown by', 'which needs', 'in particular'], lines);
}

const cells: Readonly<Record<Runs, string>> = {
  first: 'yes',
  again: 'in a second run',
  'by hand': 'with work by hand',
};

/** @returns the version that the client's folder pins @throws Error if it pins none */
export function pinnedVersion({ folder, pin }: Pick<ClientRow, 'folder' | 'pin'>): string {
  const text = readFileSync(join(clients, folder, pin.file), 'utf8');
  const name = pin.of.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const pattern =
    pin.file === 'Cargo.lock' ? `name = "${name}"\nversion = "([^"]+)"` : `(?:^|\\s)${name}(?:==| v)([^\\s;]+)`;
  const version = new RegExp(pattern, 'm').exec(text)?.[1];
  if (version === undefined) throw new Error(`tests/clients/${folder}/${pin.file} pins no version of ${pin.of}.`);
  return version;
}

const LANGUAGES: Readonly<Record<string, string>> = {
  '.go': 'go',
  '.py': 'python',
  '.rs': 'rust',
  '.sh': 'sh',
  '.yaml': 'yaml',
  '.yml': 'yaml',
  '.tf': 'hcl',
  '.ini': 'ini',
  '.js': 'js',
  '.json': 'json',
};

function snippet(source: string): string {
  const [file = '', region] = source.split('#');
  const text = readFileSync(join(clients, file), 'utf8');
  const shown = region === undefined ? text : regionOf(text, region, file);
  return `\`\`\`${LANGUAGES[extname(file)] ?? ''}\n${withoutIndent(shown)}\n\`\`\``;
}

/** The lines between `snippet <name>` and `end of snippet`, which are comments in the language of the file. */
function regionOf(text: string, name: string, file: string): string {
  const found = new RegExp(`^[^\\n]*\\bsnippet ${name}\\n([\\s\\S]*?)\\n[^\\n]*\\bend of snippet`, 'm').exec(text)?.[1];
  if (found === undefined) throw new Error(`tests/clients/${file} has no snippet ${name}.`);
  return found;
}

function withoutIndent(text: string): string {
  const lines = text.trimEnd().split('\n');
  const filled = lines.filter((line) => line.trim() !== '');
  const indent = Math.min(...filled.map((line) => line.length - line.trimStart().length));
  return lines.map((line) => line.slice(indent).replaceAll('\t', '  ')).join('\n');
}
