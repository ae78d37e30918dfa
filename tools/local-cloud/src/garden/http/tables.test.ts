import { describe, expect, it } from '@jest/globals';
import { shownAge, wantsTable } from './tables.js';

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

describe('an age', () => {
  it.each([
    [-5 * second, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [9 * minute + 30 * second, '9m30s'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 5 * minute, '7h5m'],
    [47 * hour, '47h'],
    [3 * day + 4 * hour, '3d4h'],
    [90 * day, '90d'],
  ])('of %p ms is shown as %p', (ms, shown) => {
    expect(shownAge(0, ms)).toBe(shown);
  });
});

describe('a table', () => {
  it.each([
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', true],
    ['application/json;as=Table;g=meta.k8s.io;v=v1', true],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io', false],
    ['application/json', false],
  ])('is wanted by %p: %p', (accept, wanted) => {
    expect(wantsTable(accept)).toBe(wanted);
  });
});
