import { describe, expect, it } from '@jest/globals';
import { orderTables } from './order-tables.js';

describe('the order of tables', () => {
  it('puts a table after those that it refers to', () => {
    const references = [
      { from: 'a', to: 'c' },
      { from: 'c', to: 'b' },
      { from: 'c', to: 'c' },
      { from: 'b', to: 'elsewhere' },
    ];

    expect(orderTables(['a', 'b', 'c', 'd'], references)).toEqual(['b', 'd', 'c', 'a']);
  });

  it('refuses tables that refer to each other', () => {
    const references = [
      { from: 'a', to: 'b' },
      { from: 'b', to: 'a' },
    ];

    expect(() => orderTables(['a', 'b'], references)).toThrow('circle');
  });
});
