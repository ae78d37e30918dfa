import { type SetChange, type WantedSet, wayBack } from '@corral/domain';
import { Button } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { announce } from '../ui/announcer.js';
import { download } from '../ui/download.js';
import { plural } from '../ui/plural.js';
import { Meter, Status } from '../ui/status.js';
import { ChangeList } from './change-list.js';
import { countsOf, runText } from './change-texts.js';
import styles from './changes.module.css';
import type { ChangeRun } from './use-change-run.js';

interface RunProps {
  readonly run: ChangeRun;
  /** Plans the way back, from what is done. Without it, there is no button for that. */
  readonly onWayBack?: ((wanted: WantedSet[]) => void) | undefined;
}

/** How far a run is, and what can be done about it, in one line. */
export function RunLine({ run, onWayBack, children }: RunProps & { readonly children?: ReactNode }) {
  const { waves, outcomes, isRunning, stopped, resume, pause, discard } = run;
  const changes = waves.flat();
  const { all, done, refused, left } = countsOf(changes, outcomes);
  const text = runText(changes, outcomes);
  const writing = changes.find(({ key }) => outcomes[key]?.state === 'writing');
  useEffect(() => {
    if (!isRunning) announce(text);
  }, [isRunning, text]);
  const doneChanges = changes.filter(({ key }) => outcomes[key]?.state === 'done');
  return (
    <>
      {left > 0 && <Meter percent={Math.floor(((all - left) * 100) / Math.max(1, all))} label="Changes applied" />}
      {done === all ? <Status tone="good">{text}</Status> : <strong className="numeric">{text}</strong>}
      {isRunning && writing !== undefined && <span className="muted">saving {writing.key}</span>}
      {stopped !== null && <span role="alert">{stopped}</span>}
      {isRunning && <Button onClick={pause}>Pause</Button>}
      {!isRunning && left > 0 && (
        <Button variant="filled" onClick={resume}>
          {`Resume ${plural(left, 'set')}`}
        </Button>
      )}
      {!isRunning && left === 0 && refused > 0 && <Button onClick={resume}>{`Try ${refused} refused again`}</Button>}
      {!isRunning && onWayBack !== undefined && doneChanges.length > 0 && (
        <Button onClick={() => onWayBack(wayBack(doneChanges))}>Undo these changes …</Button>
      )}
      {children}
      {!isRunning && <Button onClick={discard}>{left > 0 ? 'Discard the rest' : 'Close'}</Button>}
    </>
  );
}

/** What a run did to each set, and how the sets were before. */
export function RunDetails({ run: { waves, outcomes, isRunning } }: Pick<RunProps, 'run'>) {
  const changes = waves.flat();
  return (
    <div className={styles.panel}>
      <div className={styles.buttons}>
        <Button onClick={() => download('former-record-sets.json', 'application/json', formerState(changes))}>
          Download a backup
        </Button>
        <span className="muted">The sets as they were before.</span>
      </div>
      <ChangeList caption="Changes and their state" changes={changes} outcomes={outcomes} isRunning={isRunning} />
    </div>
  );
}

/** A plan that is being applied, or was interrupted, or has ended. */
export function RunPanel({ run, onWayBack }: RunProps) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return (
    <section className={styles.panel} aria-label="Progress">
      <h2 ref={title} tabIndex={-1}>
        Progress
      </h2>
      <div className={styles.buttons}>
        <RunLine run={run} onWayBack={onWayBack} />
      </div>
      <RunDetails run={run} />
    </section>
  );
}

const formerState = (changes: readonly SetChange[]): string =>
  `${JSON.stringify(
    changes.map(({ name, type, from }) => ({ name, type, ...(from === null ? { absent: true } : from) })),
    null,
    2,
  )}\n`;
