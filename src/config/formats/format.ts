/** What sort of value a setting takes: how its text is read, what a person should write, how the value is shown. */
import { z } from "zod";
import { ProviderError } from "../../runtime/errors.ts";
import { quote } from "../problem.ts";

export interface Format<T> {
  /** From what a flag, a variable or the file holds to the value. Its issues are what the person reads. */
  readonly schema: z.ZodType<T>;
  /** Completes "Write …": "a time like 5m or 1h30m". */
  readonly expects: string;
  /** What stands for the value in help: "<time>"; in brackets, "[true|false]", where it may be left out. */
  readonly placeholder: string;
  show(value: T): string;
  /** May be given several times on the command line; the values are joined by commas. */
  readonly isList?: true;
  /** A file or folder: $HOME and a leading ~ are replaced. */
  readonly isPath?: true;
  /** Taken from the environment or a file, never from the command line, and never shown. */
  readonly isSecret?: true;
  /** May hold a secret, wherever it was given: what is wrong with it is told without it. */
  readonly isHidden?: true;
  /** The names inside a map, for the nearest right one. */
  readonly fields?: readonly string[];
}

/** Why a text is not a value, and what to write instead if there is something better to say than `expects`. */
export class BadValue {
  readonly reason: string;
  readonly hint: string | undefined;

  constructor(reason: string, hint?: string) {
    this.reason = reason;
    this.hint = hint;
  }
}

export interface TextFormat<T> extends Format<T> {
  readonly read: (text: string) => T | BadValue;
}

type TextSpec<T> = Omit<TextFormat<T>, "schema" | "show"> & {
  readonly show?: (value: T) => string;
  /** What an empty text means, where it means something. */
  readonly empty?: T;
};

/** A format that is read from one piece of text, as all are that a flag or a variable can hold. */
export function textFormat<T>(spec: TextSpec<T>): TextFormat<T> {
  const read = (text: string) => {
    const trimmed = text.trim();
    return trimmed === "" ? (spec.empty ?? new BadValue("it is empty")) : spec.read(trimmed);
  };
  const schema = z.string({ error: "one value is expected here" }).transform((text, context) => {
    const value = read(text);
    if (!(value instanceof BadValue)) return value;
    context.addIssue({ code: "custom", message: value.reason, params: { hint: value.hint } });
    return z.NEVER;
  });
  return { show: String, ...spec, read, schema };
}

/** Several of a format, separated by commas. */
export function commaList<T>(format: TextFormat<T>, expects: string, least = 0): TextFormat<readonly T[]> {
  return textFormat<readonly T[]>({
    expects,
    placeholder: "<list>",
    isList: true,
    ...(format.isPath && { isPath: true }),
    ...(least === 0 ? { empty: [] } : {}),
    show: (values) => values.map(format.show).join(","),
    read(text) {
      const values: T[] = [];
      for (const entry of text.split(",").map((entry) => entry.trim())) {
        if (entry === "") continue;
        const value = format.read(entry);
        if (value instanceof BadValue)
          return new BadValue(`${quote(entry)} in it is wrong: ${value.reason}`, value.hint);
        values.push(value);
      }
      return values.length < least ? new BadValue("it is empty") : values;
    },
  });
}

/** The market throws what it rejects; here a rejection is one of several that are told together. */
export function readAsMarket<T>(read: () => T): T | BadValue {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    const { reason } = thrown.details;
    return new BadValue(typeof reason === "string" ? reason : thrown.message, thrown.advice);
  }
}
