/** How the program tells a person that it cannot go on: what happened, what to do, and an exit code for the supervisor. */

import { printable } from "../market/printable.ts";
import { ProviderError } from "../runtime/errors.ts";
import { createRedactor } from "../runtime/redact.ts";

export function describeFailure(thrown: unknown, trace = false): { text: string; exitCode: number } {
  const error = ProviderError.from(thrown);
  const lines = [`akash-provider: ${error.message}`, `  → ${error.advice}`, `  (${error.code}, see docs/errors.md)`];
  // What nobody foresaw is worth its stack; the rest says all there is to say.
  if (trace || error.code === "AKP_INTERNAL") {
    const { cause } = error;
    lines.push(String((cause instanceof Error ? cause.stack : undefined) ?? error.stack));
  }
  // Our own messages hold no secret; what another library put into its stack may.
  const shown = lines.flatMap((line) => line.split("\n")).map((line) => `${printable(line)}\n`);
  return { text: createRedactor().text(shown.join("")), exitCode: error.entry.exit };
}

/** Whatever happens, a person reads what and what to do; the process ends even if something still holds it open. */
export function endWith(thrown: unknown, trace = false): never {
  const { text, exitCode } = describeFailure(thrown, trace);
  process.stderr.write(text);
  process.exit(exitCode);
}
