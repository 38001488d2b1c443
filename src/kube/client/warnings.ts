import type { Log } from "../../runtime/log.ts";
import type { KubeCounts } from "../kube.ts";
import type { Operation } from "./refusal.ts";
import { kubeCauses, kubeReasonChars } from "./refusal.ts";
import type { Answer } from "./transport.ts";

/** Texts of warnings that are remembered, so that each is logged once: a cluster has a few dozen. */
export const kubeWarnings = 256;

interface Warned extends Pick<Answer, "headers" | "peer"> {
  /** Takes out of a text what we sent in confidence. */
  readonly hide: (text: string) => string;
}

/** Reads the warnings of an answer; each text is logged once. */
export function createWarnings(log: Log, counts: KubeCounts) {
  const told = new Set<string>();
  return ({ headers, peer, hide }: Warned, { verb, resource }: Operation): readonly string[] => {
    const { warning } = headers;
    if (warning === undefined) return none;
    const texts = readWarnings(warning).map((text) => hide(peer.mask?.(text) ?? text));
    counts.warnings += texts.length;
    for (const text of texts) {
      if (told.has(text)) continue;
      if (told.size >= kubeWarnings) told.clear();
      told.add(text);
      log.info("API server warning", { verb, resource, warning: text });
    }
    return texts;
  };
}

const none: readonly string[] = [];

/** `299 - "text", 299 - "another"`, in which a backslash stands before quotes and backslashes. */
export function readWarnings(header: string | readonly string[]): string[] {
  const texts = [header].flat().flatMap((line) => [...line.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)]);
  return texts.slice(0, kubeCauses).map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1").slice(0, kubeReasonChars));
}
