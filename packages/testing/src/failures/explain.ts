import { currentTestFile } from '../test-file.js';

/**
 * Has something told whenever a test of the current file fails: a seed, the last events, where something is kept. It is asked
 * before the hooks that clean up. Outside of tests it does nothing.
 *
 * @param explain gives nothing but '' when there is nothing to tell. What it throws is told instead.
 * @returns takes it back
 */
export function explainFailures(title: string, explain: () => string | Promise<string>): () => void {
  const file = currentTestFile();
  const explanation = { title, explain };
  file?.explanations.add(explanation);
  return () => void file?.explanations.delete(explanation);
}

/** Has the output of a process told and kept when a test of the current file fails, until the file ends. */
export function explainByOutput(name: string, output: () => string): void {
  currentTestFile()?.processes.push({ name, output });
}
