import { describe, expect, it } from '@jest/globals';
import { clusterOpenApi } from './openapi.js';

type Document = { paths: Record<string, Record<string, { responses: Record<string, object>; security?: object[] }>> };

describe('signing in, in the OpenAPI document', () => {
  const { paths } = clusterOpenApi('https://clusters.example.org') as Document;

  it.each([
    ['/auth/login/', '302'],
    ['/auth/callback/', '303'],
  ])('%s leads on by %s, without a body and without a session', (path, status) => {
    const operation = paths[path]?.get;

    expect(operation?.responses).toMatchObject({ [status]: { headers: { Location: {} } } });
    expect(operation?.responses[status]).not.toHaveProperty('content');
    expect(operation?.security).toEqual([]);
  });

  it('needs a session for whatever is about one’s own sessions', () => {
    for (const operation of [
      paths['/api/v1/me/sessions/']?.get,
      paths['/api/v1/me/sessions/{id}/']?.delete,
      paths['/auth/logout/everywhere/']?.post,
    ]) {
      expect(operation?.responses).toHaveProperty('401');
      expect(operation).not.toHaveProperty('security');
    }
  });
});
