/** What a provider answered, as far as a tenant's command reads it. */
import type { IncomingMessage } from "node:http";
import { printable } from "../../market/printable.ts";
import { ProviderError } from "../../runtime/errors.ts";

/** Of a provider's answer to a command: the status of one with thousands of nodes has a tenth of it. */
const clientAnswerBytes = 16 * 2 ** 20;
/** Of what a provider says to a refusal: all that a person reads. */
const clientErrorChars = 4_096;

interface Asked {
  readonly method: string;
  readonly url: string;
}

export async function readBounded(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > clientAnswerBytes) throw new Error(`its answer is longer than ${clientAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export function refusalOf({ method, url }: Asked, { statusCode = 0 }: IncomingMessage, text: string): ProviderError {
  return new ProviderError("AKP_PROVIDER_REFUSED", { method, url, status: statusCode, body: shown(text) });
}

/** A person reads it. */
function shown(text: string): string {
  const lines = text.slice(0, clientErrorChars).trimEnd().split("\n").map(printable);
  return lines.join("\n").slice(0, clientErrorChars) || "(it says nothing more)";
}
