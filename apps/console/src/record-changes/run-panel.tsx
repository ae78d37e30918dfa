import { type Outcomes, type SetChange, type WantedSet, wayBack } from '@corral/domain';
import { Button } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { announce } from '../ui/announcer.js';
import { download } from '../ui/download.js';
import { plural } from '../ui/plural.js';
import { Meter } from '../ui/status.js';
import { ChangeList } from './change-list.js';
import styles from './changes.module.css';
import type { ChangeRun } from './use-change-run.js';

interface RunPanelProps {
  readonly run: ChangeRun;
  /** Plans the way back, from what is done. */
  readonly onWayBack: (wanted: WantedSet[]) => void;
}

/** A plan that is being applied, or was interrupted, or has ended. */
export function RunPanel({ run, onWayBack }: RunPanelProps) {
  const { waves, outcomes, isRunning, stopped, resume, pause, discard } = run;
  const changes = waves.flat();
  const count = countStates(changes, outcomes);
  const left = changes.length - count.done - count.refused - count.skipped;
  const summary = summaryOf(changes.length, count);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  useEffect(() => {
    if (!isRunning) announce(summary);
  }, [isRunning, summary]);
  const doneChanges = changes.filter(({ key }) => outcomes[key]?.state === 'done');
  return (
    <section className={styles.panel} aria-label="Progress">
      <h2 ref={title} tabIndex={-1} className="numeric">
        {summary}
      </h2>
      <Meter percent={Math.floor(((changes.length - left) * 100) / Math.max(1, changes.length))} label="Sets written" />
      {stopped !== null && <p role="alert">{stopped}</p>}
      <div className={styles.buttons}>
        {isRunning && <Button onClick={pause}>Pause</Button>}
        {!isRunning && left > 0 && (
          <Button variant="filled" onClick={resume}>
            {`Resume ${plural(left, 'set')}`}
          </Button>
        )}
        {!isRunning && left === 0 && count.refused > 0 && (
          <Button onClick={resume}>{`Try ${count.refused} refused again`}</Button>
        )}
        <Button onClick={() => download('former-record-sets.json', 'application/json', formerState(changes))}>
          Download former state
        </Button>
        {!isRunning && doneChanges.length > 0 && (
          <Button onClick={() => onWayBack(wayBack(doneChanges))}>Plan the way back</Button>
        )}
        {!isRunning && <Button onClick={discard}>{left > 0 ? 'Discard the rest' : 'Close'}</Button>}
      </div>
      <ChangeList caption="Changes and their state" changes={changes} outcomes={outcomes} />
    </section>
  );
}

interface Counts {
  readonly done: number;
  readonly refused: number;
  readonly skipped: number;
}

function countStates(changes: readonly SetChange[], outcomes: Outcomes): Counts {
  const of = (state: string) => changes.filter(({ key }) => outcomes[key]?.state === state).length;
  return { done: of('done'), refused: of('refused'), skipped: of('skipped') };
}

const summaryOf = (all: number, { done, refused, skipped }: Counts): string =>
  [
    `${done} of ${all} written`,
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ].join(', ');

const formerState = (changes: readonly SetChange[]): string =>
  `${JSON.stringify(
    changes.map(({ name, type, from }) => ({ name, type, ...(from === null ? { absent: true } : from) })),
    null,
    2,
  )}\n`;
