import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { renderPath, routeOf } from './exchange.js';

describe('renderPath', () => {
  it.each([
    ['@', '@'],
    ['*', '*'],
    ['*.dev', '*.dev'],
    ['_acme-challenge.app', '_acme-challenge.app'],
    ['...', '...'],
    ['a/b', 'a%2Fb'],
    ['../zones', '..%2Fzones'],
    ['..%2Fzones', '..%252Fzones'],
    ['%2e%2e', '%252e%252e'],
    ['a?type=A', 'a%3Ftype%3DA'],
    ['a#b', 'a%23b'],
    ['a\\b', 'a%5Cb'],
    ['a b\r\nX: y', 'a%20b%0D%0AX%3A%20y'],
    ['ü', '%C3%BC'],
  ])('encodes the segment %j as %j', (segment, encoded) => {
    const path = renderPath(['zones', segment]);

    expect(path).toBe(`/zones/${encoded}`);
  });

  it.each([[''], ['.'], ['..'], ['\uD800']])('refuses the segment %j', (segment) => {
    expect(() => renderPath(['zones', segment, 'rrsets'])).toThrow(TypeError);
  });

  it('refuses a path without segments', () => {
    expect(() => renderPath([])).toThrow(TypeError);
  });

  it('keeps every segment unchanged through a URL parser', () => {
    const segment = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text !== '.' && text !== '..');

    fc.assert(
      fc.property(fc.array(segment, { minLength: 1 }), (segments) => {
        const url = new URL(`http://upstream.test/v1${renderPath(segments)}`);

        expect(url.search + url.hash).toBe('');
        expect(url.pathname.split('/').slice(2).map(decodeURIComponent)).toEqual(segments);
      }),
    );
  });
});

describe('routeOf', () => {
  it.each([
    ['POST', ['zones', '1', 'rrsets'], 'POST /zones/{zone}/rrsets'],
    ['DELETE', ['zones', '1', 'rrsets', '@', 'A'], 'DELETE /zones/{zone}/rrsets/{name}/{type}'],
    [
      'POST',
      ['zones', '1', 'rrsets', '@', 'A', 'actions', 'add_records'],
      'POST /zones/{zone}/rrsets/{name}/{type}/actions/add_records',
    ],
    [
      'POST',
      ['zones', '1', 'rrsets', '@', 'A', 'actions', 'app-42'],
      'POST /zones/{zone}/rrsets/{name}/{type}/actions/{action}',
    ],
    ['POST', ['zones', '1', 'team', 'x'], 'POST /zones/{zone}/rrsets/{name}'],
    ['POST', ['servers', '42'], 'POST other'],
  ])('names %s %j %j', (method, segments, route) => {
    expect(routeOf(method, segments)).toBe(route);
  });
});
