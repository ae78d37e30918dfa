import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Annotation, EditorSelection, EditorState, Prec } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { nonce } from '../settings.js';
import styles from './yaml-editor.module.css';

export interface LineProblem {
  /** Number of the line, from 1. */
  readonly line: number;
  readonly message: string;
}

export interface YamlEditorProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly problems: readonly LineProblem[];
  /** The line that takes the focus; each new object moves it. */
  readonly reveal: { readonly line: number } | null;
  /** Id of the element that says what is wrong. */
  readonly describedBy: string;
}

/** Marks changes that came from outside, and are not to be reported back. */
const fromOutside = Annotation.define<boolean>();

const look = EditorView.theme({
  '&': { border: '1px solid var(--c-control)', borderRadius: 'var(--radius-control)', background: 'var(--c-raised)' },
  '&.cm-focused': { outline: '2px solid var(--c-accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', fontSize: '0.8125rem', lineHeight: '1.25rem' },
  '.cm-content': { caretColor: 'var(--c-text)', minHeight: '20rem' },
  '.cm-gutters': { background: 'var(--c-subtle)', color: 'var(--c-faint)', border: '0' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection': { background: 'var(--c-selected)' },
  '.cm-cursor': { borderLeftColor: 'var(--c-text)' },
  '.cm-tooltip': { background: 'var(--c-raised)', color: 'var(--c-text)', border: '1px solid var(--c-line)' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--c-bad)' },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--c-accent)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--c-faint)' },
  { tag: [tags.string, tags.content], color: 'var(--c-text)' },
]);

/** Ctrl or ⌘ with Enter belongs to the page, which plans and applies. */
const pageKeys = Prec.highest(keymap.of([{ key: 'Mod-Enter', run: () => true }]));

/** A YAML editor with line numbers. Tab leaves it; Ctrl or ⌘ with ] indents. */
export function YamlEditor({ text, onText, problems, reveal, describedBy }: YamlEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const report = useRef(onText);
  report.current = onText;
  const initial = useRef({ text, describedBy });

  useEffect(() => {
    if (host.current === null) return;
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: initial.current.text,
        extensions: [
          EditorView.cspNonce.of(nonce),
          pageKeys,
          lineNumbers(),
          lintGutter(),
          history(),
          yaml(),
          syntaxHighlighting(colours),
          look,
          EditorView.lineWrapping,
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.contentAttributes.of({
            'aria-label': 'Specification as YAML',
            'aria-describedby': initial.current.describedBy,
            spellcheck: 'false',
          }),
          EditorView.updateListener.of((update) => {
            const isOurs = update.transactions.some((each) => each.annotation(fromOutside));
            if (update.docChanged && !isOurs) report.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    const { state } = view.current ?? {};
    if (state === undefined || state.doc.toString() === text) return;
    view.current?.dispatch({
      changes: { from: 0, to: state.doc.length, insert: text },
      annotations: fromOutside.of(true),
    });
  }, [text]);

  useEffect(() => {
    const { state } = view.current ?? {};
    if (state !== undefined) view.current?.dispatch(setDiagnostics(state, diagnosticsOf(state, problems)));
  }, [problems]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || reveal === null) return;
    const { from } = lineIn(editor.state, reveal.line);
    editor.dispatch({ selection: EditorSelection.cursor(from), scrollIntoView: true });
    editor.focus();
  }, [reveal]);

  return <div ref={host} className={styles.host} />;
}

const lineIn = ({ doc }: EditorState, line: number) => doc.line(Math.max(1, Math.min(line, doc.lines)));

const diagnosticsOf = (state: EditorState, problems: readonly LineProblem[]): Diagnostic[] =>
  problems
    .map(({ line, message }) => {
      const { from, to } = lineIn(state, line);
      return { from, to, severity: 'error' as const, message };
    })
    .sort((a, b) => a.from - b.from);
