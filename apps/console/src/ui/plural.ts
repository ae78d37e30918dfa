const digits = new Intl.NumberFormat('en');

/** A number with its unit: `1 change`, `1,200 changes`. */
export const plural = (count: number, singular: string, many = `${singular}s`): string =>
  `${digits.format(count)} ${count === 1 ? singular : many}`;
