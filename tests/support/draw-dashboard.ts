import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Browser } from 'playwright-core';
import type { Dashboard, Panel, Target } from './dashboards.js';
import type { Series } from './prometheus.js';

/** The values of one expression of a panel. */
export interface Drawn {
  readonly target: Target;
  readonly series: readonly Series[];
}

/** A grid of 24 columns, as in Grafana. */
const COLUMN = 52;
const ROW = 22;
const GAP = 8;
const chartLibrary = join(dirname(createRequire(import.meta.url).resolve('chart.js')), 'chart.umd.js');

/** Draws a dashboard as a PNG, 1,264 px wide. @param valuesOf the values of all expressions of a panel */
export async function drawDashboard(
  browser: Browser,
  { title, panels }: Dashboard,
  valuesOf: (panel: Panel) => Promise<readonly Drawn[]>,
): Promise<Buffer> {
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => (y + h) * ROW)) + 48;
  const page = await browser.newPage({ viewport: { width: 24 * COLUMN + 2 * GAP, height }, deviceScaleFactor: 1 });
  try {
    await page.setContent(`<style>
      body { margin: 0; background: #f4f5f5; font: 12px sans-serif; color: #24292e; position: relative; }
      h1 { font-size: 16px; margin: 0; padding: 14px ${GAP * 2}px; }
      section { position: absolute; background: #fff; border: 1px solid #ddd; border-radius: 3px; box-sizing: border-box; padding: 6px 10px; overflow: hidden; }
      h2 { font-size: 12px; margin: 0 0 2px; } .none { color: #777; padding-top: 20px; text-align: center; }
      .stats { display: flex; gap: 18px; } .stats b { display: block; font-size: 24px; font-weight: 500; white-space: nowrap; } canvas { display: block; }
    </style><h1></h1>`);
    await page.locator('h1').evaluate((heading, text) => {
      heading.textContent = text;
    }, title);
    await page.addScriptTag({ path: chartLibrary });
    for (const panel of panels) {
      const { x, y, w, h } = panel.gridPos;
      await page.evaluate(drawPanel, {
        title: panel.title,
        isStat: panel.type === 'stat',
        box: { left: x * COLUMN + GAP, top: y * ROW + 44, width: w * COLUMN - GAP, height: h * ROW - GAP },
        unit: panel.fieldConfig.defaults.unit ?? 'short',
        lines: linesOf(await valuesOf(panel)),
      });
    }
    return await page.screenshot({ type: 'png' });
  } finally {
    await page.close();
  }
}

interface Line {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

function linesOf(drawn: readonly Drawn[]): Line[] {
  return drawn.flatMap(({ target, series }) =>
    series.map(({ metric, values }) => ({
      name: target.legendFormat.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => metric[label] ?? ''),
      points: values.map(([time, value]) => ({ x: time, y: Number(value) })).filter(({ y }) => Number.isFinite(y)),
    })),
  );
}

interface PanelDrawing {
  readonly title: string;
  readonly isStat: boolean;
  readonly box: { readonly left: number; readonly top: number; readonly width: number; readonly height: number };
  readonly unit: string;
  readonly lines: readonly Line[];
}

/** Runs in the page. */
function drawPanel({ title, isStat, box, unit, lines }: PanelDrawing): void {
  const colours = ['#37872d', '#e0b400', '#1f60c4', '#fa6400', '#c4162a', '#8f3bb8', '#00a3a3', '#7a5c3e'];
  const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
  const textOf = (value: number): string => {
    if (unit === 'percentunit') return `${compact.format(value * 100)} %`;
    if (unit === 'bytes') return `${compact.format(value / 1_048_576)} MiB`;
    if (unit === 's')
      return value !== 0 && Math.abs(value) < 1 ? `${compact.format(value * 1000)} ms` : `${compact.format(value)} s`;
    return `${compact.format(value)}${unit === 'ops' || unit === 'reqps' ? ' /s' : ''}`;
  };
  const element = <K extends keyof HTMLElementTagNameMap>(
    name: K,
    parent: Element,
    text = '',
  ): HTMLElementTagNameMap[K] => {
    const made = parent.appendChild(document.createElement(name));
    made.textContent = text;
    return made;
  };
  const section = element('section', document.body);
  for (const [name, value] of Object.entries(box)) section.style.setProperty(name, `${value}px`);
  element('h2', section, title);
  const known = lines.filter(({ points }) => points.length > 0);
  if (known.length === 0) {
    element('div', section, 'No data').className = 'none';
    return;
  }
  if (isStat) {
    const stats = element('div', section);
    stats.className = 'stats';
    for (const { name, points } of known) {
      const stat = element('div', stats, name);
      element('b', stat, textOf(points.at(-1)?.y ?? 0));
    }
    return;
  }
  const canvas = element('canvas', section);
  const shown = known.slice(0, colours.length);
  const start = Math.min(...shown.flatMap(({ points }) => points.map(({ x }) => x)));
  const { Chart } = window as unknown as { Chart: new (canvas: HTMLCanvasElement, config: object) => unknown };
  canvas.width = box.width - 22;
  canvas.height = box.height - 34;
  new Chart(canvas, {
    type: 'line',
    data: {
      datasets: shown.map(({ name, points }, index) => ({
        label: name,
        data: points,
        borderColor: colours[index],
        borderWidth: 1.5,
        pointRadius: points.length === 1 ? 2 : 0,
      })),
    },
    options: {
      animation: false,
      responsive: false,
      scales: {
        x: {
          type: 'linear',
          min: start,
          max: Math.max(...shown.flatMap(({ points }) => points.map(({ x }) => x))),
          grid: { display: false },
          ticks: { stepSize: 30, callback: (value: number) => `${Math.round((value - start) / 6) / 10} min` },
        },
        y: { beginAtZero: true, ticks: { maxTicksLimit: 5, callback: textOf } },
      },
      plugins: {
        legend: { position: 'bottom', align: 'start', labels: { boxWidth: 10, boxHeight: 2, font: { size: 11 } } },
      },
    },
  });
}
