/** A failure that the team can fix itself, and then retry. */
export const fixable = (hint: string) => ({ fault: 'user', retryable: true, hint }) as const;
/** A failure of the platform, after which the same change can succeed. */
export const ours = (hint: string) => ({ fault: 'platform', retryable: true, hint }) as const;
