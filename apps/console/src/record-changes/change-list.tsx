import {
  hasSameLabels,
  labelTexts,
  type Outcomes,
  type SetChange,
  type SetContent,
  type SetState,
} from '@corral/domain';
import { durationText } from '../ui/duration.js';
import { Status, type Tone } from '../ui/status.js';
import { shownState } from './change-texts.js';
import styles from './changes.module.css';

const tones: Readonly<Record<SetState, Tone>> = {
  waiting: 'idle',
  writing: 'running',
  written: 'running',
  done: 'good',
  refused: 'bad',
  unknown: 'warning',
  skipped: 'warning',
};

interface ChangeListProps {
  /** What the changes are, for screen readers. */
  readonly caption: string;
  readonly changes: readonly SetChange[];
  readonly outcomes?: Outcomes;
  /** Whether they are being applied. */
  readonly isRunning?: boolean;
}

/** Changes of record sets, old beside new, with how far each is. */
export function ChangeList({ caption, changes, outcomes, isRunning = false }: ChangeListProps) {
  return (
    <ul className={styles.list} aria-label={caption}>
      {changes.map((change) => {
        const outcome = outcomes?.[change.key];
        const { state, word, detail } = shownState(outcome, isRunning);
        return (
          <li key={change.key} className={styles.change}>
            <span className={styles.sign} aria-hidden>
              {signOf(change)}
            </span>
            <div className={styles.what}>
              <div>
                <span className="visually-hidden">{wordOf(change)} </span>
                <strong className="mono">{change.key}</strong>
                {change.source !== undefined && <span className="faint"> {change.source}</span>}
              </div>
              <Difference from={change.from} to={change.to} />
              {change.refusal !== undefined && <div className={styles.refusal}>{change.refusal}</div>}
              {detail !== undefined && <div className="muted">{detail}</div>}
              {outcome?.found !== undefined && (
                <div>
                  Now: <Content content={outcome.found} />
                </div>
              )}
            </div>
            {outcomes !== undefined && <Status tone={tones[state]}>{word}</Status>}
          </li>
        );
      })}
    </ul>
  );
}

const signOf = ({ from, to, refusal }: SetChange): string =>
  refusal !== undefined ? '✕' : from === null ? '+' : to === null ? '−' : '~';
const wordOf = ({ from, to }: SetChange): string => (from === null ? 'Add' : to === null ? 'Remove' : 'Change');

const ttlText = (ttl: number | null): string => (ttl === null ? 'default' : durationText(ttl));
const labelsOf = (labels: SetContent['labels']): string => labelTexts(labels).join(', ') || 'none';
const recordText = ({ value, comment }: SetContent['records'][number]): string =>
  comment === null ? value : `${value} ; ${comment}`;

function Content({ content }: { readonly content: SetContent | null }) {
  if (content === null) return <span>absent</span>;
  return <span className="mono">{`${content.records.map(recordText).join(', ')} (TTL ${ttlText(content.ttl)})`}</span>;
}

/** What a change does to a set: records that go and come, TTL and labels. */
export function Difference({ from, to }: { readonly from: SetContent | null; readonly to: SetContent | null }) {
  const before = from?.records.map(recordText) ?? [];
  const after = to?.records.map(recordText) ?? [];
  return (
    <ul className={styles.difference}>
      {before
        .filter((text) => !after.includes(text))
        .map((text) => (
          <li key={`- ${text}`}>
            <span className="visually-hidden">removed </span>
            <del>{text}</del>
          </li>
        ))}
      {after
        .filter((text) => !before.includes(text))
        .map((text) => (
          <li key={`+ ${text}`}>
            <span className="visually-hidden">added </span>
            <ins>{text}</ins>
          </li>
        ))}
      {to !== null && (from === null ? to.ttl !== null : from.ttl !== to.ttl) && (
        <li>
          TTL {from !== null && `${ttlText(from.ttl)} → `}
          {ttlText(to.ttl)}
        </li>
      )}
      {to !== null && !hasSameLabels(to, from ?? { ...to, labels: {} }) && (
        <li>
          Labels {from !== null && `${labelsOf(from.labels)} → `}
          {labelsOf(to.labels)}
        </li>
      )}
    </ul>
  );
}
