/** One error class. What a code means, to whom it is told and what to do about it stands in the catalogue. */
import { catalogue, type ErrorCode, type ErrorEntry } from "./catalogue.ts";

/** The names between braces in a template: "{path} is full" needs a `path`. */
type Placeholder<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholder<Rest>
  : never;

type TextsOf<Code extends ErrorCode> = (typeof catalogue)[Code]["message"] | (typeof catalogue)[Code]["advice"];

/** What an error of this code must be told; more may be added as evidence. */
export type ErrorDetails<Code extends ErrorCode> = Record<Placeholder<TextsOf<Code>>, string | number | bigint> &
  Record<string, unknown>;

export class ProviderError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "ProviderError";
  readonly code: Code;
  readonly details: Record<string, unknown>;

  constructor(code: Code, details: ErrorDetails<Code>, options?: { cause?: unknown }) {
    super(fill(catalogue[code].message, details), options);
    this.code = code;
    this.details = details;
  }

  get entry(): ErrorEntry {
    return catalogue[this.code];
  }

  /** What to do next, in a sentence. */
  get advice(): string {
    return fill(this.entry.advice, this.details);
  }

  /** Anything thrown, as one of ours; what nobody foresaw becomes AKP_INTERNAL with its cause kept. */
  static from(thrown: unknown): ProviderError {
    if (thrown instanceof ProviderError) return thrown;
    return new ProviderError("AKP_INTERNAL", { reason: reasonOf(thrown) }, { cause: thrown });
  }

  static is<Code extends ErrorCode>(thrown: unknown, code: Code): thrown is ProviderError<Code> {
    return thrown instanceof ProviderError && thrown.code === code;
  }
}

/** The short reason inside anything thrown, for messages. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && !thrown.message) return thrown.errors.map(reasonOf).join("; ");
  if (thrown instanceof Error) return thrown.message || thrown.name;
  try {
    return String(thrown);
  } catch {
    // An object that cannot be made a text, as one without a prototype.
    return Object.prototype.toString.call(thrown);
  }
}

/** The code of an error of the operating system ("ENOSPC"), if it is one. */
export function systemCodeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" ? code : undefined;
}

function fill(template: string, details: Record<string, unknown>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => String(details[name]));
}
