import { clusterLimits, normalEmail } from '@corral/contracts';
import type { Asking } from './caller.js';
import { standingOf } from './invitation-rules.js';
import { invitationTarget } from './invitations.js';
import type { TeamStore } from './team-transaction.js';

export interface AdmissionDeps {
  readonly store: Pick<TeamStore, 'change' | 'listReceived'>;
  readonly newId: () => string;
}

/** Makes a user of an address that is invited. @returns whether the address has a user now */
export type AdmitInvited = (email: string, asking: Asking) => Promise<boolean>;

/**
 * Lets invited people in where no identity provider says who they are. The team that invites answers for them, so it is
 * locked and its audit log tells of it; they belong to it once they accept.
 */
export const admitInvited =
  ({ store, newId }: AdmissionDeps): AdmitInvited =>
  async (spelt, asking) => {
    const email = normalEmail(spelt);
    const page = { limit: clusterLimits.listItemsMax, after: null };
    for (const { id, team } of await store.listReceived(email, page)) {
      const isAdmitted = await store.change({ userId: newId(), ...asking, team }, async (tx) => {
        const invitation = await tx.findInvitation({ id });
        if (invitation === null || standingOf(invitation, tx.now) !== 'waiting') return false;
        const isNew = await tx.createActor(email);
        if (isNew) await tx.audit('invitation.create_user', invitationTarget(invitation));
        return true;
      });
      if (isAdmitted) return true;
    }
    return false;
  };
