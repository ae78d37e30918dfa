import type { UsageStep } from '@corral/contracts';
import type { ReactNode } from 'react';
import {
  Area,
  Bar,
  CartesianGrid,
  ComposedChart,
  Line,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  type TooltipContentProps,
  XAxis,
  YAxis,
} from 'recharts';
import { isAlone, labelOf, type PlotRow, tickOf, ticksOf } from './plot-rows.js';
import styles from './usage.module.css';

/** One value of a plot. */
export interface Series {
  readonly key: Exclude<keyof PlotRow, 'at'>;
  readonly label: string;
  /** One of the four colours of plots. */
  readonly colour: 1 | 2 | 3 | 4;
  /** Bars for what is counted in each point, lines for what is true at its end, a band between two values. */
  readonly shape: 'bar' | 'line' | 'limit' | 'band';
}

export interface PlotProps {
  readonly title: string;
  readonly summary: ReactNode;
  /** Behind each value of the tooltip, such as `EUR`. */
  readonly unit?: string;
  readonly step: UsageStep;
  readonly rows: readonly PlotRow[];
  readonly series: readonly Series[];
  /** A line that appears when values come near it. */
  readonly limit?: number | null;
}

const HEIGHT = 176;
/** A limit is drawn from half of it on: below, its line would press all values to the ground. */
const NEAR_LIMIT = 2;
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });

const colourOf = ({ colour }: Pick<Series, 'colour'>): string => `var(--c-plot-${colour})`;

/**
 * Values over time. Gaps are gaps, and a value between two gaps is a point. The picture is hidden from screen readers, for which the
 * summary and the table of all values stand.
 */
export function Plot({ title, summary, unit = '', step, rows, series, limit = null }: PlotProps) {
  const ticks = ticksOf(rows, step);
  const values = rows.flatMap((row) =>
    series.flatMap(({ key, shape }) => (shape === 'limit' ? [] : ([row[key] ?? 0].flat() as number[]))),
  );
  const most = Math.max(0, ...values);
  return (
    <figure className={styles.plot}>
      <figcaption>
        <h2>{title}</h2>
        <p className="muted numeric">{summary}</p>
      </figcaption>
      {most === 0 ? (
        <p className="muted">Nothing in this time.</p>
      ) : (
        <div aria-hidden>
          <ul className={styles.legend}>
            {series.map((each) => (
              <li key={each.key}>
                <Swatch {...each} />
                {each.label}
              </li>
            ))}
          </ul>
          <ResponsiveContainer width="100%" height={HEIGHT}>
            <ComposedChart
              data={[...rows]}
              accessibilityLayer={false}
              margin={{ top: 8, right: 8, bottom: 0, left: 0 }}
            >
              <CartesianGrid vertical={false} stroke="var(--c-line)" />
              <XAxis
                dataKey="at"
                tickFormatter={(at: number) => tickOf(at, step, rows.length)}
                {...(ticks === undefined ? {} : { ticks })}
                minTickGap={ticks === undefined ? 16 : 2}
                stroke="var(--c-control)"
                tick={{ fill: 'var(--c-muted)', fontSize: 12 }}
              />
              <YAxis
                width={44}
                allowDecimals={series.some(({ shape }) => shape === 'band')}
                domain={[0, 'auto']}
                tickFormatter={(value: number) => compact.format(value)}
                stroke="var(--c-control)"
                tick={{ fill: 'var(--c-muted)', fontSize: 12 }}
              />
              {limit !== null && (
                <ReferenceLine
                  y={limit}
                  ifOverflow={most * NEAR_LIMIT < limit ? 'hidden' : 'extendDomain'}
                  stroke="var(--c-bad)"
                  strokeDasharray="4 4"
                />
              )}
              <Tooltip
                content={(shown: TooltipContentProps) => (
                  <Values shown={shown} series={series} step={step} unit={unit} />
                )}
                cursor={{ fill: 'var(--c-selected)', stroke: 'var(--c-control)' }}
                isAnimationActive={false}
              />
              {series.map((each) => shapeOf(each, rows))}
            </ComposedChart>
          </ResponsiveContainer>
        </div>
      )}
    </figure>
  );
}

function shapeOf(series: Series, rows: readonly PlotRow[]) {
  const { key, shape } = series;
  const colour = colourOf(series);
  const shared = { key, dataKey: key, isAnimationActive: false } as const;
  const dot = ({ cx, cy, index = 0 }: { readonly cx?: number; readonly cy?: number; readonly index?: number }) =>
    isAlone(rows, key, index) ? <circle key={index} cx={cx} cy={cy} r={2.5} fill={colour} /> : <g key={index} />;
  switch (shape) {
    case 'bar':
      return <Bar {...shared} stackId="bars" fill={colour} maxBarSize={24} />;
    case 'line':
      return <Line {...shared} stroke={colour} strokeWidth={2} dot={dot} activeDot={{ r: 3 }} type="step" />;
    case 'limit':
      return <Line {...shared} stroke={colour} strokeDasharray="6 4" dot={dot} activeDot={false} type="step" />;
    case 'band':
      return (
        <Area {...shared} stroke={colour} strokeWidth={2} fill={colour} fillOpacity={0.25} dot={dot} type="step" />
      );
  }
}

function Swatch(series: Series) {
  return (
    <svg width="14" height="10" aria-hidden="true">
      {series.shape === 'line' || series.shape === 'limit' ? (
        <line
          x1="0"
          x2="14"
          y1="5"
          y2="5"
          stroke={colourOf(series)}
          strokeWidth="2"
          strokeDasharray={series.shape === 'limit' ? '4 3' : undefined}
        />
      ) : (
        <rect width="14" height="10" rx="2" fill={colourOf(series)} fillOpacity={series.shape === 'band' ? 0.5 : 1} />
      )}
    </svg>
  );
}

interface ValuesProps {
  readonly shown: TooltipContentProps;
  readonly series: readonly Series[];
  readonly step: UsageStep;
  readonly unit: string;
}

/** What the pointer is over. */
function Values({ shown: { active, payload }, series, step, unit }: ValuesProps) {
  const row = payload?.[0]?.payload as PlotRow | undefined;
  if (!active || row === undefined) return null;
  return (
    <div className={styles.tooltip}>
      <strong>{labelOf(row.at, step)} UTC</strong>
      {series.map((each) => (
        <div key={each.key}>
          <Swatch {...each} /> {each.label}: <span className="numeric">{textOf(row[each.key], unit)}</span>
        </div>
      ))}
    </div>
  );
}

function textOf(value: PlotRow[Series['key']], unit: string): string {
  if (value === null) return 'not known';
  const text =
    typeof value === 'number' ? exact.format(value) : [...new Set(value.map((amount) => amount.toFixed(2)))].join('–');
  return unit === '' ? text : `${text} ${unit}`;
}
