import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { aShootName, aStatus } from './a-garden.js';
import { aNode, nodeAt, type RunningShoot, saying, startShoot } from './a-shoot.js';

let shoot: RunningShoot;

beforeEach(async () => {
  shoot = await startShoot();
});

afterEach(async () => {
  jest.useRealTimers();
  await shoot.close();
});

describe('a node', () => {
  it('is read with its fields', async () => {
    shoot.routes[`GET ${nodeAt}`] = saying(200, aNode());

    expect(await shoot.client.nodes.readNode(aShootName, 'web-1')).toEqual({
      name: 'web-1',
      uid: 'uid-web-1',
      isReady: true,
      isUnschedulable: false,
      labels: { a: 'b' },
      annotations: { c: 'd' },
    });
  });

  it.each([
    ['its condition is False', { conditions: [{ type: 'Ready', status: 'False' }] }],
    ['its condition is Unknown', { conditions: [{ type: 'Ready', status: 'Unknown' }] }],
    ['it has no such condition', { conditions: [{ type: 'DiskPressure', status: 'True' }] }],
  ])('is not ready if %s', async (_what, overrides) => {
    shoot.routes[`GET ${nodeAt}`] = saying(200, aNode(overrides));

    expect(await shoot.client.nodes.readNode(aShootName, 'web-1')).toMatchObject({ isReady: false });
  });

  it('that is cordoned is reported as cordoned', async () => {
    shoot.routes[`GET ${nodeAt}`] = saying(200, aNode({ spec: { unschedulable: true } }));

    expect(await shoot.client.nodes.readNode(aShootName, 'web-1')).toMatchObject({ isUnschedulable: true });
  });

  it('that is absent is null, counts as deleted, and cannot be marked', async () => {
    const { nodes } = shoot.client;

    expect(await nodes.readNode(aShootName, 'web-1')).toBeNull();
    await nodes.deleteNode(aShootName, 'web-1');
    await expect(nodes.patchNode(aShootName, 'web-1', {})).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('gets only the given labels and annotations', async () => {
    shoot.routes[`PATCH ${nodeAt}`] = saying(200, aNode());
    const marks = { labels: { pool: 'blue' }, annotations: { note: '1' }, isUnschedulable: true };

    await shoot.client.nodes.patchNode(aShootName, 'web-1', marks);
    await shoot.client.nodes.patchNode(aShootName, 'web-1', { isUnschedulable: false });

    expect(shoot.requests.map(({ type, body }) => [type, body])).toEqual([
      [
        'application/merge-patch+json',
        { metadata: { labels: { pool: 'blue' }, annotations: { note: '1' } }, spec: { unschedulable: true } },
      ],
      ['application/merge-patch+json', { metadata: {}, spec: { unschedulable: false } }],
    ]);
  });

  it('is deleted by name', async () => {
    shoot.routes[`DELETE ${nodeAt}`] = saying(200, { kind: 'Status', status: 'Success' });

    await shoot.client.nodes.deleteNode(aShootName, 'web-1');

    expect(shoot.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([`DELETE ${nodeAt}`]);
  });

  it.each(['', '..'])('cannot have the name %j, which would address something else', async (name) => {
    await expect(shoot.client.nodes.readNode(aShootName, name)).rejects.toThrow(TypeError);
    expect(shoot.requests).toEqual([]);
  });

  it('is counted in the metrics of calls to shoots', async () => {
    shoot.routes[`GET ${nodeAt}`] = saying(200, aNode());
    await shoot.client.nodes.readNode(aShootName, 'web-1');

    expect(shoot.calls.map(({ verb, resource, outcome }) => [verb, resource, outcome])).toEqual([
      ['create', 'shoots/adminkubeconfig', 'ok'],
      ['get', 'shoot nodes', 'ok'],
    ]);
  });
});

const half = (_request: unknown, response: ServerResponse) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 1_000 });
  response.write('{"metadata": {"name": "web-1"', () => response.destroy());
};
const html = (_request: unknown, response: ServerResponse) => {
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end('<html>Welcome</html>');
};

describe('a shoot with problems', () => {
  it.each([
    ['half a body', half, 'unusable', 'unusable'],
    ['HTML', html, 'unusable', 'unusable'],
    ['a node without a name', saying(200, { metadata: {} }), 'unusable', null],
    ['409', saying(409, aStatus(409, 'Conflict', 'modified')), 'conflict', 'conflict'],
    ['429', saying(429, aStatus(429, 'TooManyRequests', 'slow down')), 'throttled', 'throttled'],
    ['422', saying(422, aStatus(422, 'Invalid', 'no')), 'refused', 'refused'],
    ['503', saying(503, aStatus(503, 'ServiceUnavailable', 'no')), 'server_error', 'uncertain'],
    [
      'a page of a gateway',
      (_r: unknown, response: ServerResponse) => response.writeHead(502).end('<html>'),
      'server_error',
      'uncertain',
    ],
    ['a 404 that names nothing', saying(404, aStatus(404, 'NotFound', 'page not found')), 'unusable', 'unusable'],
  ])('that answers %s fails the call', async (_what, answer, ofRead, ofWrite) => {
    shoot.routes = { [`GET ${nodeAt}`]: answer, [`PATCH ${nodeAt}`]: answer };
    const { nodes } = shoot.client;

    await expect(nodes.readNode(aShootName, 'web-1')).rejects.toMatchObject({ kind: ofRead, fromShoot: true });
    if (ofWrite === null) return;
    await expect(nodes.patchNode(aShootName, 'web-1', {})).rejects.toMatchObject({ kind: ofWrite, fromShoot: true });
  });

  it('that does not answer is unreachable, and a write is uncertain', async () => {
    jest.useFakeTimers({ doNotFake: ['Date', 'performance', 'setInterval', 'clearInterval', 'hrtime'] });
    // The timeout ends after the request has arrived, even on a busy machine.
    const lateFor = () => void jest.advanceTimersByTime(60_000);
    shoot.routes = { [`GET ${nodeAt}`]: lateFor, [`PATCH ${nodeAt}`]: lateFor };
    const { nodes } = shoot.client;

    await expect(nodes.readNode(aShootName, 'web-1')).rejects.toMatchObject({ kind: 'unreachable' });
    await expect(nodes.patchNode(aShootName, 'web-1', {})).rejects.toMatchObject({ kind: 'uncertain' });
  });

  it('that refuses connections is unreachable in every call, and no other kubeconfig is requested', async () => {
    shoot.routes[`GET ${nodeAt}`] = saying(200, aNode());
    const { nodes } = shoot.client;
    await nodes.readNode(aShootName, 'web-1');
    await shoot.stop();

    const join = { nodeName: 'web-1', architecture: 'amd64', tokenSeconds: 3_600 } as const;
    const unreachable = { kind: 'unreachable', untrusted: false, fromShoot: true };
    await expect(nodes.readNode(aShootName, 'web-1')).rejects.toMatchObject(unreachable);
    await expect(nodes.patchNode(aShootName, 'web-1', {})).rejects.toMatchObject(unreachable);
    await expect(nodes.deleteNode(aShootName, 'web-1')).rejects.toMatchObject(unreachable);
    await expect(nodes.evictPods(aShootName, 'web-1')).rejects.toMatchObject(unreachable);
    await expect(nodes.joinData(aShootName, join)).rejects.toMatchObject(unreachable);
    expect(shoot.issued).toEqual(['admin-1']);
  });

  it('that echoes requests puts none of them into errors and logs', async () => {
    const echo = saying(401, aStatus(401, 'Unauthorized', 'who is admin-1?'));
    shoot.routes[`GET ${nodeAt}`] = echo;
    const failure = await shoot.client.nodes.readNode(aShootName, 'web-1').catch((error: Error) => error);

    const said = inspect([failure, shoot.logged, shoot.calls, shoot.client], {
      depth: 20,
      showHidden: true,
      maxStringLength: null,
    });
    expect(said).toContain('Unauthorized');
    expect(said).not.toMatch(/BEGIN|PRIVATE|LS0tLS1/);
  });
});
