import { describe, expect, it } from '@jest/globals';
import { clusterOpenApi } from '../openapi/openapi.js';

type Document = { paths: Record<string, Record<string, { responses: Record<string, object>; security?: object[] }>> };

describe('sign-in routes in the OpenAPI document', () => {
  const { paths } = clusterOpenApi('https://clusters.example.org') as Document;

  it.each([
    ['/auth/login/', '302'],
    ['/auth/callback/', '303'],
  ])('%s redirects with %s, without a body or a session', (path, status) => {
    const operation = paths[path]?.get;

    expect(operation?.responses).toMatchObject({ [status]: { headers: { Location: {} } } });
    expect(operation?.responses[status]).not.toHaveProperty('content');
    expect(operation?.security).toEqual([]);
  });

  it("require a session for the caller's own sessions", () => {
    for (const operation of [
      paths['/api/v1/me/sessions/']?.get,
      paths['/api/v1/me/sessions/{id}/']?.delete,
      paths['/auth/logout/everywhere/']?.post,
    ]) {
      expect(operation?.responses).toHaveProperty('401');
      expect(operation).toHaveProperty('security', [{ session: [] }]);
    }
  });
});
