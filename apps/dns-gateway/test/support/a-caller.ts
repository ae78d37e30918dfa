import type { DnsCaller } from '@corral/auth';
import { asTeamId } from '@corral/contracts';

/** A caller with a token of the team `acme` that is not narrowed. */
export const aCaller: DnsCaller = {
  tokenId: 'token',
  kind: 'team',
  ownerId: 'team',
  ownerLabel: 'acme',
  teamId: asTeamId('team'),
  accountId: 'team',
  scopes: ['dns'],
  withinName: null,
  withinTypes: [],
  expiresAt: null,
  tokenRequestsMax: null,
  teamRequestsMax: null,
};
