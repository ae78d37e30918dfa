const units = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const;

/** Seconds as people say them: `1 h`, `5 min`, `90 s`. */
export function durationText(seconds: number): string {
  const [size, unit] = units.find(([each]) => seconds >= each && seconds % each === 0) ?? [1, 's'];
  return `${seconds / size} ${unit}`;
}
