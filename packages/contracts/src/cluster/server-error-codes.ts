/** What the adoption of a server, or its way into or out of a cluster, failed of: the part of `operationErrorCodes` that is about servers. */
export const serverErrorCodes = {
  server_token_rejected: {
    fault: 'user',
    retryable: true,
    hint: 'Put a valid token with read and write access into the connection, then adopt the server again.',
  },
  server_gone: {
    fault: 'user',
    retryable: false,
    hint: 'The cloud project has no such server. Deregister it here.',
  },
  server_locked: {
    fault: 'user',
    retryable: true,
    hint: 'Wait until the provider has ended what runs on the server, then adopt it again.',
  },
  server_protected: {
    fault: 'user',
    retryable: true,
    hint: 'Lift the protection of the server against rebuilds in the cloud project, then adopt it again.',
  },
  server_in_rescue: {
    fault: 'user',
    retryable: true,
    hint: 'Switch the rescue system of the server off in the cloud project, then adopt it again.',
  },
  server_iso_mounted: {
    fault: 'user',
    retryable: true,
    hint: 'Unmount the ISO image of the server in the cloud project, then adopt it again.',
  },
  server_claimed_elsewhere: {
    fault: 'user',
    retryable: true,
    hint: 'Take away the label that the message names, if nobody else uses the server, then adopt it again.',
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
  server_changed: {
    fault: 'user',
    retryable: true,
    hint: 'Adopt the server again as it is now.',
  },
  server_rebuild_refused: {
    fault: 'user',
    retryable: true,
    hint: 'Look at the server in the cloud project, then adopt it again.',
  },
  server_rebuild_failed: {
    fault: 'user',
    retryable: true,
    hint: 'Look at the server in the cloud project, then adopt it again.',
  },
  server_adoption_timeout: {
    fault: 'platform',
    retryable: true,
    hint: 'Look at the server in the cloud project, then adopt it again.',
  },
  server_join_timeout: {
    fault: 'platform',
    retryable: true,
    hint: 'Make the node pool smaller, so that the server is rebuilt clean, and then larger again.',
  },
  server_never_joined: {
    fault: 'user',
    retryable: true,
    hint: 'Make the node pool that draws on the server smaller, if one does. Then adopt it again and run its join command.',
  },
} as const satisfies Record<string, { fault: 'user' | 'platform'; retryable: boolean; hint: string }>;
export type ServerErrorCode = keyof typeof serverErrorCodes;
