import { type CorralError, isCorralError, newIdempotencyKey } from '@corral/client';
import { Button, Group, Stack } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { type FieldErrors, fieldErrorsOf } from './field-errors.js';
import styles from './page.module.css';
import { Failed } from './states.js';
import { draftAt, dropDraft, putDraft } from './use-draft.js';

export interface ApiFormOptions<V extends object, R> {
  readonly initial: V;
  /** Names the draft that a reload does not lose, until it is saved. */
  readonly draft?: string;
  /** Fields that are never kept over a reload. */
  readonly secrets?: readonly (keyof V)[];
  /** What is wrong before anything is sent, by field. */
  readonly check?: (values: V) => Partial<Record<keyof V, string | null | undefined>>;
  /** Fields of parts of JSON pointers that are called otherwise. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** What a refusal without fields means for them. */
  readonly meaning?: (refusal: CorralError, values: V) => Partial<Record<keyof V, string>>;
  /** @param idempotencyKey the same until the outcome is known */
  readonly send: (values: V, idempotencyKey: string) => Promise<R>;
  /** What a form with a draft holds after it was saved; as it began if absent. */
  readonly after?: (answer: R) => V;
  readonly onSaved?: (answer: R, values: V) => unknown;
}

export interface ApiForm<V extends object, R = unknown> {
  readonly fields: UseFormReturnType<V>;
  readonly isPending: boolean;
  /** A refusal or failure that no field shows. */
  readonly error: Error | null;
  /** The answer, until the form is sent again. */
  readonly saved: R | undefined;
  readonly submit: ReturnType<UseFormReturnType<V>['onSubmit']>;
  readonly hasChecks: boolean;
}

/** A form that is one request: what the API says about a field stands at the field, and the first one takes the focus. */
export function useApiForm<V extends object, R>(options: ApiFormOptions<V, R>): ApiForm<V, R> {
  const { initial, draft, secrets = [], check, aliases, meaning, send, after = () => initial, onSaved } = options;
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const fields = useForm<V>({
    // Several forms of a page may have fields of one name. That of a form has letters and digits alone.
    name: useId().replace(/[^a-z\d]/gi, ''),
    initialValues: draft === undefined ? initial : { ...initial, ...draftAt<Partial<V>>(draft, {}) },
    onValuesChange: (values) => {
      const open = Object.entries(values).filter(([name]) => !secrets.includes(name as keyof V));
      if (draft !== undefined) putDraft(draft, Object.fromEntries(open));
    },
    validate: (values) => ({ ...check?.(values) }),
  });
  const show = (errors: Readonly<Record<string, ReactNode>>) => {
    fields.setErrors(errors);
    const [first] = Object.keys(errors);
    if (first !== undefined) fields.getInputNode(first as Parameters<typeof fields.getInputNode>[0])?.focus();
  };
  const refusalOf = (error: unknown): FieldErrors => {
    const meant = isCorralError(error) ? meaning?.(error, fields.values) : undefined;
    if (meant !== undefined && Object.keys(meant).length > 0) return { byField: meant, isComplete: true };
    return fieldErrorsOf(error, Object.keys(fields.values), aliases);
  };
  const sending = useMutation({
    // Neither what was typed nor the answer stays in memory longer than the form.
    gcTime: 0,
    mutationFn: (values: V) => send(values, idempotencyKey),
    onSuccess: async (answer, values) => {
      if (draft !== undefined) fields.setValues(after(answer));
      await onSaved?.(answer, values);
      if (draft !== undefined) dropDraft(draft);
    },
    onError: (error) => {
      show(refusalOf(error).byField);
      // A refused request may be sent again with other contents; one without an answer is the same request again.
      if (isCorralError(error) && !error.isUnknownOutcome) setIdempotencyKey(newIdempotencyKey());
    },
  });
  return {
    fields,
    isPending: sending.isPending,
    error: sending.error === null || refusalOf(sending.error).isComplete ? null : sending.error,
    saved: sending.data,
    submit: fields.onSubmit((values) => {
      if (!sending.isPending) sending.mutate(values);
    }, show),
    hasChecks: check !== undefined,
  };
}

export interface ApiFormFrameProps<V extends object> {
  readonly form: ApiForm<V>;
  readonly label?: string;
  /** The text of the button. */
  readonly action: string;
  /** What did not happen, such as `The demo was not created.` */
  readonly failure?: string;
  readonly onCancel?: () => void;
  /** It destroys something. */
  readonly isDangerous?: boolean;
  /** The button stands beside the fields. */
  readonly isRow?: boolean;
  readonly children: ReactNode;
}

/** The frame of a form: its fields, what is wrong, the buttons. Escape cancels. */
export function ApiFormFrame<V extends object>(props: ApiFormFrameProps<V>) {
  const { form, label, action, failure, onCancel, isDangerous = false, isRow = false, children } = props;
  const buttons = (
    <>
      <Button type="submit" variant="filled" loading={form.isPending} {...(isDangerous && { color: 'bad' })}>
        {action}
      </Button>
      {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
    </>
  );
  return (
    <form
      aria-label={label}
      // With checks of our own, those of the browser would come first.
      noValidate={form.hasChecks}
      onSubmit={form.submit}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onCancel?.();
      }}
    >
      <Stack gap="md" maw={isRow ? undefined : '36rem'}>
        {isRow ? (
          <FormRow>
            {children}
            {buttons}
          </FormRow>
        ) : (
          children
        )}
        {form.error !== null && <Failed error={form.error} {...(failure === undefined ? {} : { what: failure })} />}
        {!isRow && <Group>{buttons}</Group>}
      </Stack>
    </form>
  );
}

/** Fields beside each other, level at the top, and buttons level with the fields. */
export const FormRow = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles.formRow}>{children}</div>
);
