import { fixable, ours } from '../failures.js';

/** Reasons why adopting a server, or its joining or leaving a cluster, failed. Part of `operationErrorCodes`. */
export const serverErrorCodes = {
  server_token_rejected: fixable(
    'Replace the token of the connection with a valid one with read and write access, then adopt the server again.',
  ),
  server_gone: { ...fixable('The cloud project has no such server. Deregister it here.'), retryable: false },
  server_locked: fixable('Wait until the provider’s action on the server has finished, then adopt it again.'),
  server_protected: fixable('Disable the rebuild protection of the server in the cloud project, then adopt it again.'),
  server_in_rescue: fixable('Disable the rescue system of the server in the cloud project, then adopt it again.'),
  server_iso_mounted: fixable('Unmount the ISO image of the server in the cloud project, then adopt it again.'),
  server_claimed_elsewhere: fixable(
    'Make sure that the server is not used elsewhere, remove the label that the message names, then adopt it again.',
  ),
  server_disk_too_small: fixable('Give the server a larger disk, or adopt another one.'),
  server_image_missing: ours(
    'The provider has no image for the server’s architecture. Ask the operators of this service.',
  ),
  server_changed: fixable('Adopt the server again with its current properties.'),
  server_rebuild_refused: fixable('Check the server in the cloud project, then adopt it again.'),
  server_rebuild_failed: fixable('Check the server in the cloud project, then adopt it again.'),
  server_adoption_timeout: ours('Check the server in the cloud project, then adopt it again.'),
  server_join_timeout: ours('Make the node pool smaller, which rebuilds the server, and then larger again.'),
  server_never_joined: fixable(
    'If a node pool uses the server, make the pool smaller. Then adopt the server again and run its join command.',
  ),
} as const satisfies Record<string, { fault: 'user' | 'platform'; retryable: boolean; hint: string }>;
export type ServerErrorCode = keyof typeof serverErrorCodes;
