import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openJournal } from './journal.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'journal-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () => openJournal(folder, 'lines');
const entriesIn = () => [...open().entries()];

describe('a journal', () => {
  it('is empty before the first write', () => {
    expect(entriesIn()).toEqual([]);
  });

  it('returns entries of several runs', () => {
    for (const lines of [['a', 'ä'], ['b']]) {
      const file = open();
      for (const line of lines) file.append(JSON.stringify(line));
      file.close();
    }

    expect(entriesIn()).toEqual(['a', 'ä', 'b']);
  });

  it('returns lines longer than one read', () => {
    const long = 'ä'.repeat(700_000);
    const file = open();
    for (const line of ['a', long, long, 'b']) file.append(JSON.stringify(line));
    file.close();

    const read = entriesIn();

    expect(read.map((entry) => String(entry).length)).toEqual([1, long.length, long.length, 1]);
    expect(read[1] === long && read[2] === long).toBe(true);
  });

  it('drops an incomplete last line', () => {
    const file = open();
    file.append('"whole"');
    file.close();
    appendFileSync(join(folder, 'lines'), '"cut sho');

    expect(entriesIn()).toEqual(['whole']);
  });

  it('ignores writes after close, when another process may own the file', () => {
    const file = open();
    file.append('"whole"');
    file.close();

    file.append('"late"');
    file.compact(() => ['"late"']);

    expect(entriesIn()).toEqual(['whole']);
  });

  it('can be compacted and then appended to', () => {
    const file = open();
    file.append('"old"');
    file.compact(() => ['"x"', '"y"']);
    file.append('"z"');
    file.close();

    expect(entriesIn()).toEqual(['x', 'y', 'z']);
  });

  it('reports the number of a damaged line', () => {
    const file = open();
    file.append('"whole"');
    file.append('{"half');
    file.close();

    expect(entriesIn).toThrow(/lines is damaged at line 2/);
  });
});
