/** A number with its noun: `1 line`, `2 lines`. */
export const plural = (many: number, noun: string): string => `${many} ${noun}${many === 1 ? '' : 's'}`;
