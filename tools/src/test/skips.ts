import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SKIP_NOTES_FILE, type SkipNote } from '@corral/testing';

/** @returns what the tests of a run recorded, if anything */
export async function readSkipNotes(resultsDir: string): Promise<SkipNote[]> {
  const text = await readFile(join(resultsDir, SKIP_NOTES_FILE), 'utf8').catch(() => '');
  const lines = text.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as SkipNote);
}

/** One line for each thing that this machine does not have, whichever tests need it. */
export function skipLines(notes: readonly SkipNote[]): string[] {
  const things = new Map<string, SkipNote[]>();
  for (const note of notes) {
    const key = JSON.stringify([note.what, note.how]);
    things.set(key, [...(things.get(key) ?? []), note]);
  }
  return [...things.values()].map(lineFor).sort();
}

function lineFor(notes: readonly SkipNote[]): string {
  const { what, how, why } = notes[0] as SkipNote;
  const tests = notes.reduce((sum, note) => sum + note.tests, 0);
  const lesser = notes.reduce((sum, note) => sum + note.lesser, 0);
  const reason = why === undefined ? '' : ` (${why})`;
  if (tests === 0) return `reduced: ${wanting(lesser)} ${what}${reason}: ${how}.`;
  const others =
    lesser === 0 ? '' : `, ${lesser === 1 ? 'one' : lesser} more ${lesser === 1 ? 'checks' : 'check'} less`;
  return `skipped: ${wanting(tests)} ${what}${others}${reason}: ${how}.`;
}

const wanting = (count: number): string => (count === 1 ? '1 test needs' : `${count} tests need`);

/** The number of tests that Jest counts as skipped and we do not. */
export const countRare = (notes: readonly SkipNote[]): number =>
  notes.reduce((sum, { isRare = false, tests }) => sum + (isRare ? tests : 0), 0);
