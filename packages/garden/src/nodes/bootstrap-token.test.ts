import { describe, expect, it } from '@jest/globals';
import { newBootstrapToken, renderBootstrapToken } from './bootstrap-token.js';

describe('a bootstrap token', () => {
  it('has the format that Kubernetes requires, and uses the whole alphabet', () => {
    const texts = Array.from({ length: 2_000 }, () => Object.values(newBootstrapToken()).join('.'));

    for (const text of texts) expect(text).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/);
    const used = [0, 5, 7, 22].map((at) => new Set(texts.map((text) => text[at])).size);
    expect(used).toEqual([36, 36, 36, 36]);
  });

  it('becomes a Secret that expires and permits only joining', () => {
    const expiresAt = new Date('2026-11-22T10:00:00.500Z');

    const { data, ...secret } = renderBootstrapToken({ id: 'abc123', secret: '0123456789abcdef' }, 'web-1', expiresAt);

    expect(secret).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        namespace: 'kube-system',
        name: 'bootstrap-token-abc123',
        labels: { 'corral.dev/joins-as': 'web-1' },
      },
      type: 'bootstrap.kubernetes.io/token',
    });
    const texts = Object.entries(data as Record<string, string>).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString(),
    ]);
    expect(Object.fromEntries(texts)).toEqual({
      description: 'For the server web-1 to join as a node.',
      'token-id': 'abc123',
      'token-secret': '0123456789abcdef',
      expiration: '2026-11-22T10:00:00Z',
      'usage-bootstrap-authentication': 'true',
    });
  });
});
