import { Button, Group, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FieldProblem } from '../api/problem.js';
import { catalogueQuery, connectionsQuery } from '../api/queries.js';
import { Failed } from '../ui/states.js';
import styles from './plan.module.css';
import { readDocument } from './spec-document.js';
import { SpecForm } from './spec-form.js';

export interface ClusterEditorProps {
  readonly team: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly problems: readonly FieldProblem[];
  readonly isNew: boolean;
}

/** Two views of one document: a form and YAML. */
export function ClusterEditor({ team, text, onText, problems, isNew }: ClusterEditorProps) {
  const [view, setView] = useState<'form' | 'yaml'>('form');
  const { spec, problem } = readDocument(text);
  const connections = useQuery(connectionsQuery(team));
  const catalogue = useQuery(catalogueQuery(team, spec?.connectionRef || undefined));
  return (
    <div className={styles.fields}>
      <Group role="group" aria-label="View" gap="xs">
        <Button aria-pressed={view === 'form'} onClick={() => setView('form')}>
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
        <Textarea
          label="Specification as YAML"
          value={text}
          onChange={(event) => onText(event.currentTarget.value)}
          error={problem === null ? null : `Line ${problem.line}: ${problem.message}`}
          autosize
          minRows={16}
          spellCheck={false}
          classNames={{ input: 'mono' }}
        />
      ) : problem === null ? (
        <SpecForm
          text={text}
          spec={spec}
          onText={onText}
          connections={connections.data ?? []}
          catalogue={catalogue.data}
          problems={problems}
          isNew={isNew}
        />
      ) : (
        <p role="alert">
          Fix line {problem.line} of the YAML to continue here: {problem.message}{' '}
          <Button onClick={() => setView('yaml')}>Show YAML</Button>
        </p>
      )}
    </div>
  );
}
