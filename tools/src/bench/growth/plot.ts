/** One line of a plot: what is measured at each size. */
export interface Line {
  readonly name: string;
  /** One for each size; the first is 1. */
  readonly ratios: readonly number[];
}

export interface Plot {
  readonly title: string;
  readonly sizes: readonly number[];
  readonly lines: readonly Line[];
  readonly aim: number;
}

const [WIDTH, HEIGHT] = [900, 460];
const edge = { left: 60, right: 300, top: 50, bottom: 50 };
const LABELLED = 6;
const LABEL_HEIGHT = 15;
const colours = ['#b3261e', '#b06000', '#6750a4', '#00639b', '#006d3b', '#8c4a60'];
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Draws ratios over sizes, both on logarithmic axes. The lines that end highest have names, the others are grey. */
export function plotSvg({ title, sizes, lines, aim }: Plot): string {
  const highest = Math.max(aim * 1.25, ...lines.flatMap(({ ratios }) => ratios));
  const lowest = Math.min(0.7, ...lines.flatMap(({ ratios }) => ratios));
  const x = scale([sizes[0] as number, sizes.at(-1) as number], [edge.left, WIDTH - edge.right]);
  const y = scale([lowest, highest], [HEIGHT - edge.bottom, edge.top]);
  const worstFirst = lines.toSorted((one, other) => last(other) - last(one));
  const named = worstFirst.slice(0, LABELLED);
  const places = labelPlaces(named.map((line) => y(last(line))));
  const path = ({ ratios }: Line) =>
    `<polyline points="${ratios.map((ratio, at) => `${x(sizes[at] as number)},${y(ratio)}`).join(' ')}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${edge.left}" y="24" font-size="15" fill="#1c1b1f">${escaped(title)}</text>`,
    `<text x="${edge.left}" y="40" fill="#49454f">Median time of a request, as a multiple of that with the first size</text>`,
    ...sizes.map(
      (size) =>
        `<line x1="${x(size)}" y1="${edge.top}" x2="${x(size)}" y2="${HEIGHT - edge.bottom}" stroke="#e7e0ec"/>` +
        `<text x="${x(size)}" y="${HEIGHT - edge.bottom + 18}" text-anchor="middle" fill="#49454f">${size.toLocaleString('en')}</text>`,
    ),
    ...ticksBetween(lowest, highest).map(
      (tick) =>
        `<line x1="${edge.left}" y1="${y(tick)}" x2="${WIDTH - edge.right}" y2="${y(tick)}" stroke="#e7e0ec"/>` +
        `<text x="${edge.left - 8}" y="${y(tick) + 4}" text-anchor="end" fill="#49454f">${tick}</text>`,
    ),
    ...worstFirst
      .slice(LABELLED)
      .map((line) => `${path(line)} fill="none" stroke="#9a9aa0" stroke-width="1" opacity="0.45"/>`),
    `<line x1="${edge.left}" y1="${y(aim)}" x2="${WIDTH - edge.right}" y2="${y(aim)}" stroke="#1c1b1f" stroke-dasharray="6 4"/>`,
    `<text x="${edge.left + 6}" y="${y(aim) - 5}" fill="#1c1b1f">aim: at most ${aim}</text>`,
    ...named.flatMap((line, at) => [
      `${path(line)} fill="none" stroke="${colours[at]}" stroke-width="2"/>`,
      `<text x="${WIDTH - edge.right + 10}" y="${(places[at] as number) + 4}" fill="${colours[at]}">${last(line).toFixed(2)} ${escaped(line.name)}</text>`,
    ]),
    '</svg>',
    '',
  ].join('\n');
}

const last = ({ ratios }: Line): number => ratios.at(-1) as number;

/** @returns a logarithmic scale, with a tenth of a pixel */
function scale([from, to]: readonly [number, number], [start, end]: readonly [number, number]) {
  const span = Math.log(to) - Math.log(from);
  return (value: number): number =>
    Math.round((start + ((Math.log(value) - Math.log(from)) / span) * (end - start)) * 10) / 10;
}

const ticksBetween = (lowest: number, highest: number): number[] =>
  [0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000].filter(
    (tick) => tick >= lowest && tick <= highest,
  );

/** Moves labels apart that would overlap: downwards, highest first. */
function labelPlaces(wanted: readonly number[]): number[] {
  const places: number[] = [];
  for (const place of wanted) places.push(Math.max(place, (places.at(-1) ?? 0) + LABEL_HEIGHT));
  return places;
}
