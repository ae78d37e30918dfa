import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { renderTable } from './table.js';

describe('renderTable', () => {
  it('makes columns as wide as their widest cell, without trailing spaces', () => {
    const rows = [
      { name: 'a', count: 10 },
      { name: 'longer', count: null },
    ];

    const table = renderTable(rows, { NAME: ({ name }) => name, COUNT: ({ count }) => count });

    expect(table).toBe('NAME    COUNT\na       10\nlonger  -\n');
  });

  it('renders one line per row and no escape sequence, whatever a cell contains', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (values) => {
        const table = renderTable(values, { VALUE: (value) => value });

        expect(table.split('\n')).toHaveLength(values.length + 2);
        expect(table).not.toContain('\u001b');
      }),
    );
  });
});
