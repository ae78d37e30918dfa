import { describe, expect, it } from '@jest/globals';
import { fieldText } from './effect-text.js';

describe('a changed field', () => {
  it('says what it was and what it becomes', () => {
    expect(fieldText({ pointer: '/spec/nodePools/0/maximum', from: 6, to: 3 })).toBe(
      'spec.nodePools[0].maximum: 6 → 3',
    );
  });

  it('says that a default replaced it, because the declaration leaves it out', () => {
    expect(fieldText({ pointer: '/spec/nodePools/0/maximum', from: 6, to: 3, byDefault: true })).toBe(
      'spec.nodePools[0].maximum: 6 → 3 (the default, because the declaration leaves it out)',
    );
  });
});
