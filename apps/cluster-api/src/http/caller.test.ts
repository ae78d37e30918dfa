import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { presumedOwnerOf, requestOwnerOf } from './caller.js';

const aRequest = (path: string): Request =>
  ({ path, headers: {}, rawHeaders: ['Authorization', 'Bearer a-token'] }) as unknown as Request;
const ofPerson = {
  locals: { account: null, session: { userId: 'ada', memberships: [{ teamId: 'a', slug: 'acme', teamNumber: 7 }] } },
} as unknown as Response;
const ofAccount = {
  locals: { session: null, account: { team: { id: 'a', slug: 'acme', number: 7 } } },
} as unknown as Response;

describe('the owner of a request', () => {
  it.each([
    ['of a person to a team of theirs', ofPerson, '/api/v1/teams/acme/clusters', 'team a'],
    ['of a person to a team by its number', ofPerson, '/teams/api/teams/7/', 'team a'],
    ['of a person to no team', ofPerson, '/api/v1/me', 'user ada'],
    ['of a person to a team of others', ofPerson, '/api/v1/teams/globex/clusters', null],
    ['of an account to its team', ofAccount, '/api/v1/teams/acme/clusters', 'team a'],
    ['of an account to no team', ofAccount, '/api/v1/catalogue', 'team a'],
    ['of an account to a team of others', ofAccount, '/api/v1/teams/globex/clusters', null],
  ])('%s is remembered only where one name of a team leads to it', (_case, res, path, owner) => {
    expect(requestOwnerOf(aRequest(path), res)).toBe(owner);
  });

  it('is presumed by a text of bounded length, whatever the path', () => {
    const short = presumedOwnerOf(aRequest('/api/v1/teams/acme/clusters'));
    const long = presumedOwnerOf(aRequest(`/api/v1/teams/${'a'.repeat(16_000)}/clusters`));

    expect(short).toMatch(/ acme$/);
    expect(long?.length).toBeLessThan(110);
    expect(long).toBe(presumedOwnerOf(aRequest('/api/v1/me')));
  });
});
