import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Explanation, type KnownProcess, resultsDir, type TestFile } from '../test-file.js';

/**
 * Logs contain no secrets, but some commands print them on purpose, and tests print anything. Random mixed-case texts
 * look like tokens or passwords; our names and hashes are lower case.
 */
const RANDOM_TEXT = /(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?:(?=[\w-]*\d)[\w-]{24,}|[\w-]{40,})/g;
const KEY = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?-----END \1-----/gs;

const maskSecrets = (text: string): string =>
  text
    .replace(KEY, '(private key)')
    .replace(RANDOM_TEXT, (secret) => `${secret.slice(0, 3)}…(${secret.length} characters)`);

const LINES_PER_PROCESS = 15;
const LINE_LENGTH_MAX = 300;
const CHARACTERS_PER_EXPLANATION = 3_000;
const CHARACTERS_MAX = 24_000;
/** An explanation may query something that does not answer. */
const EXPLAIN_MS = 5_000;

/**
 * Explains a failure, in addition to Jest's message. Also writes the logs of all processes.
 *
 * @returns '' when the file has nothing to report
 */
export async function describeFailure(file: TestFile, test: string, folder = resultsDir()): Promise<string> {
  const logs = writeLogs(file, folder);
  const explained = await Promise.all([...file.explanations].map(explanationText));
  const parts = [...explained, ...logs.map(({ name, output, path }) => lastLines(name, output, path))].filter(Boolean);
  if (parts.length === 0) return '';
  const text = `\n● ${basename(file.path)}: ${test}\n\n${parts.join('\n')}`;
  const bounded = text.length > CHARACTERS_MAX ? `${text.slice(0, CHARACTERS_MAX)}\n  …` : text;
  return `${maskSecrets(bounded).trimEnd()}\n\n`;
}

async function explanationText({ title, explain }: Explanation): Promise<string> {
  const giveUp = new AbortController();
  const timeout = pause(EXPLAIN_MS, '(it does not answer)', { signal: giveUp.signal });
  timeout.catch(() => undefined); // aborted below
  const answer = async () => explain();
  const text = await Promise.race([answer(), timeout]).catch((error: unknown) => `(not available: ${error})`);
  giveUp.abort();
  if (text === '') return '';
  const bounded = text.length > CHARACTERS_PER_EXPLANATION ? `…${text.slice(-CHARACTERS_PER_EXPLANATION)}` : text;
  return bounded.includes('\n') ? `  ${title}:\n${indented(bounded)}\n` : `  ${title}: ${bounded}\n`;
}

function lastLines(name: string, output: string, path: string | undefined): string {
  const lines = output.trimEnd().split('\n').slice(-LINES_PER_PROCESS);
  const short = lines.map((line) => (line.length > LINE_LENGTH_MAX ? `${line.slice(0, LINE_LENGTH_MAX)}…` : line));
  return `  last output of ${name}${path === undefined ? '' : `, all of it is in ${path}`}:\n${indented(short.join('\n'))}\n`;
}

const indented = (text: string): string => text.trimEnd().replace(/^/gm, '    ');

type Log = { name: string; output: string; path: string | undefined };

/** Writes one log per process name, in the order of their starts. Processes without output have none. */
export function writeLogs({ path: testPath, processes }: TestFile, folder = resultsDir()): Log[] {
  return [...outputsByName(processes)].map(([name, output]) => {
    if (folder === undefined) return { name, output, path: undefined };
    const root = dirname(folder);
    const place = join(
      folder,
      relative(root, testPath)
        .replace(/\.test\.ts$/, '')
        .replace(/^\W+/, '')
        .replaceAll('/', '.'),
    );
    mkdirSync(place, { recursive: true });
    const path = join(place, `${name.replace(/[^\w.-]+/g, '-')}.log`);
    writeFileSync(path, maskSecrets(output));
    return { name, output, path: relative(root, path) };
  });
}

function outputsByName(processes: readonly KnownProcess[]): Map<string, string> {
  const outputs = new Map<string, string>();
  for (const { name, output } of processes) {
    const text = output();
    if (text !== '') outputs.set(name, (outputs.get(name) ?? '') + text.replace(/\n?$/, '\n'));
  }
  return outputs;
}
