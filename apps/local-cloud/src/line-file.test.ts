import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openLineFile } from './line-file.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'line-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const linesIn = () => [...openLineFile(folder, 'lines').lines()];

describe('a file of lines', () => {
  it('is empty before anything was written', () => {
    expect(linesIn()).toEqual([]);
  });

  it('gives back what was added, by several runs too', () => {
    for (const lines of [['a', 'ä'], ['b']]) {
      const file = openLineFile(folder, 'lines');
      for (const line of lines) file.append(line);
      file.close();
    }

    expect(linesIn()).toEqual(['a', 'ä', 'b']);
  });

  it('gives back lines that are longer than what is read at once', () => {
    const long = 'ä'.repeat(700_000);
    const file = openLineFile(folder, 'lines');
    for (const line of ['a', long, long, 'b']) file.append(line);
    file.close();

    const read = linesIn();

    expect(read.map((line) => line.length)).toEqual([1, long.length, long.length, 1]);
    expect(read[1] === long && read[2] === long).toBe(true);
  });

  it('drops a last line without an end', () => {
    const file = openLineFile(folder, 'lines');
    file.append('whole');
    file.close();
    appendFileSync(join(folder, 'lines'), 'cut sho');

    expect(linesIn()).toEqual(['whole']);
  });

  it('takes nothing any more once it is closed, as its next owner may be at work', () => {
    const file = openLineFile(folder, 'lines');
    file.append('whole');
    file.close();

    file.append('late');
    file.replace(['late']);

    expect(linesIn()).toEqual(['whole']);
  });

  it('can be replaced and then added to', () => {
    const file = openLineFile(folder, 'lines');
    file.append('old');
    file.replace(['x', 'y']);
    file.append('z');

    expect(file.bytes).toBe(6);
    file.close();
    expect(linesIn()).toEqual(['x', 'y', 'z']);
  });
});
