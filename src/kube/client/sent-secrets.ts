/**
 * Tenants' secrets reach the API server in what we write, and it may repeat what it will not have, as may any admission
 * webhook. A refusal is logged, journaled and shown to many, so what we sent in confidence is taken out of it.
 */
import { goJson } from "../../market/sorted-json.ts";
import { redactorSecretLeastChars } from "../../runtime/limits.ts";
import { redacted } from "../../runtime/redact.ts";
import { fieldsOf, listOf } from "../json-fields.ts";

/** Hides the secrets of what was sent in what came back. They are looked for when something did: most writes just work. */
export function hideSent(body: unknown): (text: string) => string {
  let forms: readonly string[] | undefined;
  return (text) => {
    forms ??= [...new Set([...secretsIn(body)].flatMap(formsOf))].sort(longestFirst);
    return forms.reduce(hide, text);
  };
}

/** So that of two that begin alike the whole of the longer one is hidden. */
function longestFirst(a: string, b: string): number {
  return b.length - a.length;
}

/** What a tenant gives a container to know: its environment and its arguments. And what secrets and credentials hold. */
function* secretsIn(value: unknown): Iterable<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    if (name === "env") yield* listOf(part).map(variableValue);
    else if (name === "command" || name === "args") yield* textsIn(listOf(part));
    else if (name === "data" || name === "credentials") yield* textsIn(Object.values(fieldsOf(part)));
    else yield* secretsIn(part);
  }
}

/** Of a container's variable, or of one as a manifest has it. What has no value may be one with its name forgotten. */
function variableValue(variable: unknown): string {
  if (typeof variable !== "string") return `${fieldsOf(variable)["value"] ?? fieldsOf(variable)["name"] ?? ""}`;
  return variable.slice(variable.indexOf("=") + 1);
}

function textsIn(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === "string");
}

/** As it stands in a text, in the JSON of an answer, and quoted in that; Go escapes some more signs there. */
function formsOf(secret: string): string[] {
  if (secret.length < redactorSecretLeastChars) return [];
  const json = inside(JSON.stringify(secret));
  return [secret, json, inside(JSON.stringify(json)), inside(goJson(secret)), inside(goJson(json))];
}

/** Of a text in quotes. */
function inside(quoted: string): string {
  return quoted.slice(1, -1);
}

/** Beyond this a value is known by its beginning: whoever repeats a long one may cut it off. */
const tellingChars = 64;

function hide(text: string, form: string): string {
  const beginning = form.slice(0, tellingChars);
  let [shown, from] = ["", 0];
  for (let at = text.indexOf(beginning); at !== -1; at = text.indexOf(beginning, from)) {
    let chars = beginning.length;
    while (chars < form.length && text[at + chars] === form[chars]) chars += 1;
    shown += text.slice(from, at) + redacted;
    from = at + chars;
  }
  return shown + text.slice(from);
}
