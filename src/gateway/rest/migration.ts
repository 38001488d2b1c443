/** What is to be moved where, as a tenant's tool says it and Go reads it: names in any case, the first value counts. */
import { type GoJson, isList, readFirstValue, readUint } from "../../market/go-json.ts";
import { foldName } from "../../market/go-shape.ts";
import { ProviderError } from "../../runtime/errors.ts";
/** Host names or endpoints that one request moves: a manifest names no more. */
export const migrationNames = 1_000;

interface Migration {
  /** As they were sent, in that order, repeats too. */
  readonly names: readonly string[];
  readonly dseq: bigint;
  readonly gseq: number;
}

/** It is two levels deep; fields that nobody knows may be deeper. */
const bounds = { mostDepth: 16, mostValues: 2 * migrationNames };
// Neither may a mark at the beginning be swallowed, nor a byte that is no text be an end.
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Undefined where it is none. What was not given is empty. */
export function readMigration(body: Uint8Array, namesField: string): Migration | undefined {
  try {
    return decode(readFirstValue(utf8.decode(body), bounds), namesField);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

function decode(json: GoJson, namesField: string): Migration {
  if (json !== null && (typeof json !== "object" || !("fields" in json))) throw new SyntaxError("it is no object");
  let [names, dseq, gseq]: [readonly string[], bigint, bigint] = [[], 0n, 0n];
  for (const [name, value] of json?.fields ?? []) {
    const field = foldName(name);
    // Go sets a list that is null, and leaves a number as it is.
    if (field === foldName(namesField)) names = value === null ? [] : textsOf(value);
    else if (value === null) continue;
    else if (field === destinationDseq) dseq = wholeOf(value, 64);
    else if (field === destinationGseq) gseq = wholeOf(value, 32);
  }
  return { names, dseq, gseq: Number(gseq) };
}

const destinationDseq = foldName("destination_dseq");
const destinationGseq = foldName("destination_gseq");

function textsOf(json: GoJson): string[] {
  if (!isList(json)) throw new SyntaxError("it is no list");
  if (json.length > migrationNames) {
    throw new ProviderError("AKP_MIGRATION_TOO_LONG", { most: migrationNames });
  }
  return json.map((item) => {
    if (item !== null && typeof item !== "string") throw new SyntaxError("it is no text");
    return item ?? "";
  });
}

function wholeOf(json: GoJson, bits: number): bigint {
  const value = readUint(json, bits);
  if (value === undefined) throw new SyntaxError("it is no whole number, or too large");
  return value;
}
