/** What work waits for during a hold, as its operation shows it. */
export const heldWait = {
  reason: 'Held',
  message: 'The operators have stopped changes for now. Work continues automatically.',
} as const;
