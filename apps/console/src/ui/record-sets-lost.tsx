import type { PointingRecordSet } from '@corral/contracts';

/** The record sets that lead to what a change takes away. Nothing without any. */
export function RecordSetsLost({ recordSets }: { readonly recordSets: readonly PointingRecordSet[] }) {
  if (recordSets.length === 0) return null;
  return (
    <div>
      <p>These record sets lead to it. Change or remove them, too:</p>
      <ul aria-label="Record sets that lead to it">
        {recordSets.map(({ zone, name, type, values }) => (
          <li key={`${zone} ${name} ${type}`}>
            <span className="mono">
              {name}.{zone} {type}
            </span>{' '}
            to <span className="mono">{values.join(', ')}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
