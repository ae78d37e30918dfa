import { parser } from '@prometheus-io/lezer-promql';

/** The texts of all nodes of these kinds. The kind `⚠` stands for a syntax error. */
export function textsOf(expression: string, kind: string): string[] {
  const found: string[] = [];
  parser.parse(expression).iterate({
    enter: (node) => {
      if (node.type.isError ? kind === '⚠' : node.name === kind) found.push(expression.slice(node.from, node.to));
    },
  });
  return found;
}

/** Labels of the series that Prometheus makes for alerts. */
const ALERT_LABELS = ['alertname', 'alertstate', 'severity'];

/** The base of a histogram's series, and other names unchanged. */
const metricOf = (name: string): string => name.replace(/^(corral_\w+_seconds)_(bucket|count|sum)$/, '$1');

/**
 * Labels of an expression that none of its metrics has: such an expression is valid, and finds nothing.
 *
 * @param known the labels of each metric, without `service`, `installation` and `le`
 */
export function unknownLabels(expression: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const metrics = textsOf(expression, 'Identifier');
  const labels = new Set([
    'service',
    'installation',
    'le',
    ...metrics.flatMap((name) => known.get(metricOf(name)) ?? []),
  ]);
  if (metrics.includes('ALERTS')) for (const label of ALERT_LABELS) labels.add(label);
  return textsOf(expression, 'LabelName').filter((label) => !labels.has(label));
}
