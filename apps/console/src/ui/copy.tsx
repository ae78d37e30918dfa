import { Button } from '@mantine/core';
import { useState } from 'react';
import { announce } from './announcer.js';
import styles from './copy.module.css';

/** Copies text; without a secure context there is no clipboard API, but the old command still works. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea');
  const focused = document.activeElement;
  field.value = text;
  field.className = 'visually-hidden';
  document.body.append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}

function useCopy(text: string): { readonly copied: boolean; readonly copy: () => void } {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    const done = await copyText(text);
    announce(done ? 'Copied' : 'Could not copy. Select the text and copy it yourself.');
    setCopied(done);
    setTimeout(() => setCopied(false), 1_500);
  };
  return { copied, copy: () => void copy() };
}

interface CopyableProps {
  readonly text: string;
  readonly label?: string;
  /** -1 in a grid, whose controls are reached with the arrow keys. */
  readonly tabIndex?: -1;
}

/** A name, value or id: monospaced, and copied with a click. */
export function Copyable({ text, label, tabIndex }: CopyableProps) {
  const { copied, copy } = useCopy(text);
  return (
    <button
      type="button"
      className={styles.copyable}
      onClick={copy}
      title={copied ? 'Copied' : 'Copy'}
      tabIndex={tabIndex}
    >
      {label ?? text}
      <span className="visually-hidden"> (copy)</span>
    </button>
  );
}

interface SnippetProps {
  readonly text: string;
  readonly label: string;
  /** What is copied, if what is shown hides a part of it. */
  readonly copies?: string;
}

/** Commands, configuration or a secret, with a button that copies all of it. */
export function Snippet({ text, label, copies = text }: SnippetProps) {
  const { copied, copy } = useCopy(copies);
  return (
    <div className={styles.snippet}>
      {/* A scroll region must be reachable by keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above. */}
      <section tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <Button className={styles.snippetCopy ?? ''} onClick={copy} aria-label={`${copied ? 'Copied' : 'Copy'} ${label}`}>
        {copied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}
