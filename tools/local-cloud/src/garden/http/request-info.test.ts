import { describe, expect, it } from '@jest/globals';
import { parseRequest } from './routes.js';

const core = '/apis/core.gardener.cloud/v1beta1';

describe('a request', () => {
  it.each([
    ['GET', '/api/v1/namespaces', ['namespaces', 'list', '', '', '']],
    ['GET', '/api/v1/namespaces/a', ['namespaces', 'get', '', 'a', '']],
    ['GET', '/api/v1/namespaces/a/secrets', ['secrets', 'list', 'a', '', '']],
    ['GET', '/api/v1/namespaces/a/secrets?watch=1', ['secrets', 'watch', 'a', '', '']],
    ['GET', '/api/v1/secrets?watch=false', ['secrets', 'list', '', '', '']],
    ['PUT', '/api/v1/namespaces/a/secrets/b', ['secrets', 'update', 'a', 'b', '']],
    ['POST', `${core}/namespaces/a/shoots`, ['shoots', 'create', 'a', '', '']],
    ['POST', `${core}/namespaces/a/shoots/b/adminkubeconfig`, ['shoots', 'create', 'a', 'b', 'adminkubeconfig']],
    ['PATCH', `${core}/projects/b`, ['projects', 'patch', '', 'b', '']],
    ['DELETE', `${core}/namespaces/a/shoots`, ['shoots', 'deletecollection', 'a', '', '']],
    ['GET', `${core}/namespaces/a/shoots/b%20c`, ['shoots', 'get', 'a', 'b c', '']],
  ])('%s %s is understood', (method, url, expected) => {
    const { kind, verb, namespace, name, subresource } = parseRequest(method, url);

    expect([kind.plural, verb, namespace, name, subresource]).toEqual(expected);
  });

  it.each([
    '/',
    '/api/v2/secrets',
    '/api/v1/shoots',
    `${core}/secrets`,
    `${core}/shoots/a`,
    `${core}/namespaces/a/projects`,
    `${core}/namespaces/a/shoots/b/scale`,
    `${core}/namespaces/a/shoots/b/status/c`,
    `${core}/namespaces/a/shoots/%ff`,
  ])('for %s leads nowhere', (url) => {
    expect(() => parseRequest('GET', url)).toThrow('the server could not find the requested resource');
  });
});
