/** What a command asks is a stranger's JSON until it has been looked at. */
import type { z } from "zod";
import { ProviderError } from "../errors.ts";
import type { Question } from "../lifecycle.ts";

export function parseQuestion<T>(shape: z.ZodType<T>, question: Question): T {
  const { data, error } = shape.safeParse(question);
  if (!error) return data;
  const [issue] = error.issues;
  throw new ProviderError("AKP_QUESTION_REFUSED", { reason: `${issue?.path.join(".")}: ${issue?.message}` });
}
