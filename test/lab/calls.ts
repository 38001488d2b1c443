/** Connections from pods of the lab, by real packets. */
import { text } from "node:stream/consumers";
import type { Kube } from "../../src/kube/kube.ts";
import { eventually } from "../support/eventually.ts";
import type { PodAt } from "./pods.ts";

/** A policy holds a few milliseconds after it was written; a try that must fail takes a second. */
export const holdsWithinMs = 60_000;

/** Answered, refused by the other side or a machine on the way, or dropped. */
export type Echo = "answer" | "refused" | "silence";

interface Calls {
  call(caller: PodAt, where: string): Promise<Echo>;
  /** Waits until a call has this result. */
  becomes(caller: PodAt, where: string, echo: Echo): Promise<void>;
  /** The name server's answer for the API server's name. */
  lookUp(caller: PodAt): Promise<string>;
  /** Output of a command in the pod's container. */
  output(at: PodAt, command: readonly string[]): Promise<string>;
}

export function createCalls(kube: Pick<Kube, "exec">): Calls {
  const output: Calls["output"] = async (at, command) => {
    const session = await kube.exec(at, { command });
    const [said] = await Promise.all([text(session.stdout), session.exit]);
    return said;
  };
  const call: Calls["call"] = async (caller, where) => heard(await output(caller, ["sh", "-c", wget(where)]));
  return {
    call,
    output,
    async becomes(caller, where, echo) {
      const what = `${echo} for ${caller.namespace}/${caller.name} from ${where}`;
      await eventually(what, async () => (await call(caller, where)) === echo, holdsWithinMs);
    },
    lookUp: (caller) => output(caller, ["nslookup", "kubernetes.default.svc.cluster.local"]),
  };
}

/** A second is a hundred times the latency of an answer in the lab. */
export function wget(where: string, withinS = 1): string {
  return `timeout ${withinS} wget -O - http://${where}/ 2>&1 || echo "ended with $?"`;
}

/** An HTTP error is an answer, too: the connection was possible. */
export function heard(words: string): Echo {
  // Ended by SIGTERM.
  if (/ended with 143/.test(words)) return "silence";
  if (/hello from the lab|server returned error|error getting response/.test(words)) return "answer";
  if (/can't connect/.test(words)) return "refused";
  throw new Error(`wget said ${words}`);
}
