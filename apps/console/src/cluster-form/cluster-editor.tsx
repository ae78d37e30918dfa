import type { FieldProblem } from '@corral/client';
import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useId, useMemo, useRef, useState } from 'react';
import { catalogueQuery, connectionsQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Failed, Loading } from '../ui/states.js';
import styles from './plan.module.css';
import { lineOfPointer, readDocument } from './spec-document.js';
import { SpecForm } from './spec-form.js';

const YamlEditor = lazy(async () => ({ default: (await import('./yaml-editor.js')).YamlEditor }));

export interface ClusterEditorProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly problems: readonly FieldProblem[];
  /** Connection and region are fixed at creation. */
  readonly isNew: boolean;
  /** The network is fixed at the start. */
  readonly isStarted: boolean;
  /** JSON pointer of the field that takes the focus; each new object moves it. */
  readonly reveal: { readonly pointer: string } | null;
}

/** Two views of one document: a form and YAML. */
export function ClusterEditor({ text, onText, problems, isNew, isStarted, reveal }: ClusterEditorProps) {
  const { slug: team } = useTeam();
  const [view, setView] = useState<'form' | 'yaml'>('form');
  const [lineReveal, setLineReveal] = useState<{ readonly line: number } | null>(null);
  const form = useRef<HTMLFieldSetElement>(null);
  const problemId = useId();
  const { spec, problem } = useMemo(() => readDocument(text), [text]);
  // Broken text has no fields: the form shows those that it had, read-only.
  const lastValid = useRef({ text, spec: spec ?? {} });
  if (spec !== null) lastValid.current = { text, spec };
  const connections = useQuery(connectionsQuery(team));
  const catalogue = useQuery(catalogueQuery(team, lastValid.current.spec.connectionRef || undefined));
  const lineProblems = useMemo(
    () =>
      problem !== null
        ? [problem]
        : problems.map(({ pointer, message }) => ({ line: lineOfPointer(text, pointer), message })),
    [problem, problems, text],
  );
  const latest = useRef({ text, view });
  latest.current = { text, view };
  useEffect(() => {
    if (reveal === null) return;
    const field = latest.current.view === 'form' ? fieldOf(form.current, reveal.pointer) : null;
    if (field !== null) return field.focus();
    setView('yaml');
    setLineReveal({ line: lineOfPointer(latest.current.text, reveal.pointer) });
  }, [reveal]);
  const showLine = (line: number) => {
    setView('yaml');
    setLineReveal({ line });
  };
  return (
    <div className={styles.fields}>
      <Group role="group" aria-label="View" gap="xs" className={styles.views ?? ''}>
        <Button
          aria-pressed={view === 'form'}
          onClick={() => {
            setView('form');
            setLineReveal(null);
          }}
        >
          Form
        </Button>
        <Button aria-pressed={view === 'yaml'} onClick={() => setView('yaml')}>
          YAML
        </Button>
      </Group>
      {catalogue.error !== null && (
        <Failed
          error={catalogue.error}
          what="The catalogue could not be loaded."
          onRetry={() => void catalogue.refetch()}
        />
      )}
      {view === 'yaml' ? (
        <Suspense fallback={<Loading what="the editor" />}>
          <YamlEditor text={text} onText={onText} problems={lineProblems} reveal={lineReveal} describedBy={problemId} />
          <p id={problemId} role="status" className={problem === null ? 'muted' : styles.bad}>
            {problem === null ? 'Tab leaves the editor.' : `Line ${problem.line}: ${problem.message}`}
          </p>
        </Suspense>
      ) : (
        <>
          {problem !== null && (
            <p role="alert">
              Fix line {problem.line} to continue here. {problem.message}{' '}
              <Button onClick={() => showLine(problem.line)}>Show line {problem.line}</Button>
            </p>
          )}
          <fieldset ref={form} className={styles.form} disabled={problem !== null} aria-label="Specification">
            <SpecForm
              text={lastValid.current.text}
              spec={lastValid.current.spec}
              onText={onText}
              connections={connections.data ?? []}
              catalogue={catalogue.data}
              problems={problem === null ? problems : []}
              isNew={isNew}
              isStarted={isStarted}
            />
          </fieldset>
        </>
      )}
    </div>
  );
}

/** The control of the field at a JSON pointer, or of the nearest field that contains it; null without one. */
function fieldOf(form: HTMLElement | null, pointer: string): HTMLElement | null {
  for (let rest = pointer; rest !== ''; rest = rest.slice(0, rest.lastIndexOf('/'))) {
    const found = form?.querySelector<HTMLElement>(`[data-pointer="${CSS.escape(rest)}"]`);
    if (!found) continue;
    found.closest('details')?.setAttribute('open', '');
    return found;
  }
  return null;
}
