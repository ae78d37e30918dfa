/** Reasons why adopting a server, or its joining or leaving a cluster, failed. Part of `operationErrorCodes`. */
export const serverErrorCodes = {
  server_token_rejected: {
    fault: 'user',
    retryable: true,
    hint: 'Replace the token of the connection with a valid one with read and write access, then adopt the server again.',
  },
  server_gone: { fault: 'user', retryable: false, hint: 'The cloud project has no such server. Deregister it here.' },
  server_locked: {
    fault: 'user',
    retryable: true,
    hint: 'Wait until the provider’s action on the server has finished, then adopt it again.',
  },
  server_protected: {
    fault: 'user',
    retryable: true,
    hint: 'Disable the rebuild protection of the server in the cloud project, then adopt it again.',
  },
  server_in_rescue: {
    fault: 'user',
    retryable: true,
    hint: 'Disable the rescue system of the server in the cloud project, then adopt it again.',
  },
  server_iso_mounted: {
    fault: 'user',
    retryable: true,
    hint: 'Unmount the ISO image of the server in the cloud project, then adopt it again.',
  },
  server_claimed_elsewhere: {
    fault: 'user',
    retryable: true,
    hint: 'Make sure that the server is not used elsewhere, remove the label that the message names, then adopt it again.',
  },
  server_disk_too_small: {
    fault: 'user',
    retryable: true,
    hint: 'Give the server a larger disk, or adopt another one.',
  },
  server_image_missing: {
    fault: 'platform',
    retryable: true,
    hint: 'The provider has no image for the server’s architecture. Ask the operators of this service.',
  },
  server_changed: { fault: 'user', retryable: true, hint: 'Adopt the server again with its current properties.' },
  server_rebuild_refused: {
    fault: 'user',
    retryable: true,
    hint: 'Check the server in the cloud project, then adopt it again.',
  },
  server_rebuild_failed: {
    fault: 'user',
    retryable: true,
    hint: 'Check the server in the cloud project, then adopt it again.',
  },
  server_adoption_timeout: {
    fault: 'platform',
    retryable: true,
    hint: 'Check the server in the cloud project, then adopt it again.',
  },
  server_join_timeout: {
    fault: 'platform',
    retryable: true,
    hint: 'Make the node pool smaller, which rebuilds the server, and then larger again.',
  },
  server_never_joined: {
    fault: 'user',
    retryable: true,
    hint: 'If a node pool uses the server, make the pool smaller. Then adopt the server again and run its join command.',
  },
} as const satisfies Record<string, { fault: 'user' | 'platform'; retryable: boolean; hint: string }>;
export type ServerErrorCode = keyof typeof serverErrorCodes;
