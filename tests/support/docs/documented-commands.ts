import { readFileSync } from 'node:fs';
import { builtFile } from '../system/program.js';

/** A block of commands in a page. */
export interface CommandBlock {
  readonly page: string;
  readonly line: number;
  /** Why it cannot run beside `npm start`, from its fence: "```sh no-run needs a registry". Null if it runs. */
  readonly noRun: string | null;
  readonly script: string;
}

const FENCE = /^( *)```(sh|console)(?: +(\S.*))?\n([\s\S]*?)^\1```$/gm;

/** The blocks of a page, or of a section, in their order. @throws Error for a fence that says anything but `no-run <reason>` */
export function commandBlocksOf(page: string, section?: string): CommandBlock[] {
  const whole = readFileSync(builtFile(page), 'utf8');
  const text = section === undefined ? whole : (whole.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '');
  return [...text.matchAll(FENCE)].map(({ index, 1: indent = '', 2: kind, 3: mark, 4: body = '' }) => {
    const line = text.slice(0, index).split('\n').length;
    const noRun = mark === undefined ? null : (/^no-run (\S.+)$/.exec(mark)?.[1] ?? '');
    if (noRun === '') throw new Error(`${page}:${line}: say "no-run" and why, not "${mark}"`);
    const script = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    return { page, line, noRun, script: kind === 'console' ? typedIn(script) : script };
  });
}

/** What a person typed: from each `$ ` to a line that ends neither in a backslash nor within quotes. */
function typedIn(console: string): string {
  const typed: string[] = [];
  let isOpen = false;
  for (const line of console.split('\n')) {
    if (!isOpen && !line.startsWith('$ ')) continue;
    typed.push(isOpen ? line : line.slice(2));
    const quotes = typed.join('\n').split("'").length - 1;
    isOpen = line.endsWith('\\') || quotes % 2 === 1;
  }
  return `${typed.join('\n')}\n`;
}
