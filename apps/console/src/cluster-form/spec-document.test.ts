import { describe, expect, test } from '@jest/globals';
import { lineOfPointer, readDocument, textOf, withField, withPool } from './spec-document.js';

const text = `# The shop
spec:
  plan: payg # until spring
  nodePools:
    - name: general
      maximum: 3
`;

describe('the document of a cluster', () => {
  test('keeps comments and order when the form changes a field', () => {
    expect(withField(text, ['plan'], 'annual')).toBe(text.replace('payg', 'annual'));
    expect(withField(text, ['nodePools', 0, 'maximum'], 5)).toBe(text.replace('3', '5'));
  });

  test('adds and removes fields and pools', () => {
    const added = withPool(text, { name: 'burst', maximum: 1 });
    expect(readDocument(added).spec?.nodePools).toEqual([
      { name: 'general', maximum: 3 },
      { name: 'burst', maximum: 1 },
    ]);
    expect(withField(added, ['nodePools', 1], undefined)).toBe(text);
    expect(readDocument(withPool(textOf({ plan: 'payg' }), { name: 'a' })).spec).toEqual({
      plan: 'payg',
      nodePools: [{ name: 'a' }],
    });
  });

  test('can merge what pools share, as files for the command line do', () => {
    const merged = 'x-small: &small {machineType: cpx21}\nspec:\n  nodePools:\n    - {<<: *small, name: a}\n';
    expect(readDocument(merged).spec?.nodePools).toEqual([{ name: 'a', machineType: 'cpx21' }]);
  });

  test.each([
    ['spec:\n  plan: [', 2],
    ['plan: payg', 1],
    ['spec:\n  nodePools: 7', 2],
    ['spec: {}\nspec: {}', 2],
    ['', 1],
  ])('names the line of what is wrong in %j', (broken, line) => {
    expect(readDocument(broken)).toMatchObject({ spec: null, problem: { line } });
  });

  test.each([
    ['/spec/plan', 3],
    ['/spec/nodePools/0/maximum', 6],
    ['/spec/nodePools/0/minimum', 5],
    ['/spec/region', 2],
    ['', 1],
  ])('leads from the pointer %j to its line', (pointer, line) => {
    expect(lineOfPointer(text, pointer)).toBe(line);
  });
});
