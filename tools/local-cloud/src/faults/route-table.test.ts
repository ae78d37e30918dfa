import { describe, expect, it } from '@jest/globals';
import { RouteTable } from './call-counts.js';

const table = new RouteTable([
  { pattern: '/v1/zones/actions', methods: ['GET'] },
  { pattern: '/v1/zones/:zone', methods: ['GET'] },
  { pattern: '/v1/zones/:zone/rrsets', methods: ['GET', 'POST'] },
]);

describe('the route of a path', () => {
  it.each([
    ['/v1/zones/7001', '/v1/zones/:zone'],
    ['/v1/zones/actions', '/v1/zones/actions'],
    ['/v1/zones/%40/rrsets', '/v1/zones/:zone/rrsets'],
    ['/v1/zones/', undefined],
    ['/v1/zones/7001/', undefined],
    ['/v2/zones/7001', undefined],
    ['', undefined],
  ])('%p is %p', (path, pattern) => {
    expect(table.find(path)?.pattern).toBe(pattern);
  });
});
