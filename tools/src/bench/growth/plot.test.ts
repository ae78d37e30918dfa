import { describe, expect, it } from '@jest/globals';
import { plotSvg } from './plot.js';

const line = (name: string, ...ratios: number[]) => ({ name, ratios: [1, ...ratios] });

describe('the plot of what grows', () => {
  it('names the six requests that grow most, and draws the others', () => {
    const lines = [1, 2, 3, 4, 5, 6, 7].map((n) => line(`route ${n}`, n));
    const svg = plotSvg({ title: 'Teams & people', sizes: [10, 100], lines, aim: 1.2 });

    expect(svg.match(/<polyline/g)).toHaveLength(7);
    expect(svg).toContain('7.00 route 7');
    expect(svg).not.toContain('route 1<');
    expect(svg).toContain('Teams &amp; people');
  });

  it('draws growth as a rise: twice as long is higher than as long', () => {
    const svg = plotSvg({ title: '', sizes: [10, 100], lines: [line('grows', 2), line('stays', 1)], aim: 1.2 });
    const heights = [...svg.matchAll(/<polyline points="[\d.]+,([\d.]+) [\d.]+,([\d.]+)"/g)].map(([, from, to]) => [
      Number(from),
      Number(to),
    ]);

    const [stays, grows] = heights.toSorted(([, one = 0], [, other = 0]) => other - one) as [number[], number[]];
    expect(grows[1]).toBeLessThan(grows[0] as number);
    expect(stays[1]).toBe(stays[0]);
  });
});
